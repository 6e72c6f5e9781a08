import { randomBytes } from "node:crypto";
import { sqliteApprovals } from "./sqlite-approvals.ts";
import { sqliteChats } from "./sqlite-chats.ts";
import { oneNode } from "./one-node.ts";
import { openSqliteDatabase } from "./sqlite-database.ts";
import { sqliteFiles } from "./sqlite-files.ts";
import { sqliteLog } from "./sqlite-log.ts";
import { sqliteScrubber } from "./sqlite-scrubber.ts";
import { sqliteSessions } from "./sqlite-sessions.ts";
import type { Store } from "./store.ts";

/** Where the database of `sqliteStore` is. Only `path` is required. */
export interface SqliteStoreOptions {
  /** The database file; it and its folder are created when missing. `<path>.lock` beside it keeps other processes out. */
  path: string;
  /** The store's only clock, in milliseconds. Default `Date.now`. */
  now?: () => number;
  /** Makes the ids of new chats. Default: 128 random bits. */
  newId?: () => string;
  /** How long a write waits while another program (a shell, a backup) keeps the database locked. Default 10 seconds. */
  busyMs?: number;
}

/**
 * A store in one SQLite file, for one process at a time; a second process is refused at once. Every acknowledged write
 * survives the end of the process. Decisions, outcomes and a session's events also survive a power cut; a power cut may
 * lose the last chunks and questions of a turn that has not ended.
 *
 * Each method does all of its work in one transaction, before its first await unless another program keeps the database
 * locked. Then writes wait without blocking anything else, and keep their order; reads do not wait. Only `move` waits for the
 * end of its turn of the event loop: a sync to disk takes long, and decisions that come together share one.
 */
export function sqliteStore(options: SqliteStoreOptions): Store {
  const clock = options.now ?? Date.now;
  const now = () => Math.floor(clock());
  const newId = options.newId ?? (() => randomBytes(16).toString("hex"));
  const db = openSqliteDatabase(options.path, now(), options.busyMs ?? 10_000);
  const sessions = sqliteSessions(db, { now, newId });
  const { forget, notifyDeleted, clearListeners, ...log } = sqliteLog(db, { now });
  const scrubber = sqliteScrubber({ db, path: options.path });

  return {
    now,
    ...sessions,
    ...log,
    ...sqliteFiles(db, { now }),
    ...sqliteApprovals(db, { now }),
    ...sqliteChats(db),
    ...oneNode(async (id) => (await sessions.getSession(id))?.chat === id),

    async check() {
      // Reads the file, which `SELECT 1` would not.
      db.one("SELECT count(*) FROM sqlite_schema");
    },

    async deleteSession(id) {
      forget(id);
      await sessions.deleteSession(id);
      forget(id);
      notifyDeleted(id);
      scrubber.soon();
    },

    async close() {
      clearListeners();
      await scrubber.close();
      await db.close();
    },
  };
}
