import { randomBytes } from "node:crypto";
import { postgresApprovals } from "./postgres-approvals.ts";
import { postgresChats } from "./postgres-chats.ts";
import { openPostgresDatabase } from "./postgres-database.ts";
import { deletePostgresSession, finishDeletions } from "./postgres-deletion.ts";
import { postgresFiles } from "./postgres-files.ts";
import { postgresInbox } from "./postgres-inbox.ts";
import { postgresLeases } from "./postgres-leases.ts";
import { postgresLog } from "./postgres-log.ts";
import { postgresMessages } from "./postgres-messages.ts";
import { postgresSessions } from "./postgres-sessions.ts";
import { postgresSignals } from "./postgres-signals.ts";
import { postgresVacuum } from "./postgres-vacuum.ts";
import { postgresWatch } from "./postgres-watch.ts";
import type { Store } from "./store.ts";

/** Which database `postgresStore` uses, and how. Only `url` is required. */
export interface PostgresStoreOptions {
  /** The database: `postgres://user:password@host:5432/database`. The tables are in its schema `adk_stream_protocol`. */
  url: string;
  /** How many connections this process uses at most, beside the one that listens. Default 10. */
  connections?: number;
  /**
   * How long a statement, or a connection, may take before the database counts as away. Default 5 seconds, and at most half
   * of a lease of a chat.
   */
  timeoutMs?: number;
  /** The store's only clock, in milliseconds. Default: the clock of the database. */
  now?: () => number;
  /** Makes the ids of new chats. Default: 128 random bits. */
  newId?: () => string;
}

/**
 * A store in a PostgreSQL database, for any number of processes. The first use creates or migrates the tables. Every
 * acknowledged write is as safe as the server makes its commits. While the database is away, every call rejects with
 * `unavailable` after a while.
 *
 * It needs the package `pg`, and a direct connection or a pooler in session mode: it uses `LISTEN`.
 */
export function postgresStore(options: PostgresStoreOptions): Store {
  const { url, connections = 10, timeoutMs = 5000, now } = options;
  const newId = options.newId ?? (() => randomBytes(16).toString("hex"));
  const node = randomBytes(8).toString("hex");
  const db = openPostgresDatabase({ url, connections, timeoutMs, now });
  const { held, moment, fenceOf, explain, releaseAll, ...leaseMethods } = postgresLeases(db, node);
  const leases = { held, moment, fenceOf, explain, releaseAll, ...leaseMethods };
  const watchers = postgresWatch(db, () => signals.start());
  const { notify, poll: pollInbox, tidy: tidyInbox, ...inbox } = postgresInbox(db, node, () => signals);
  const signals = postgresSignals(db, node, {
    onLog: watchers.grew,
    onDeleted: (chat) => {
      held.delete(chat);
      watchers.gone(chat);
    },
    onPosted: notify,
    poll: async () => void (await Promise.all([watchers.poll(), pollInbox()])),
    tidy: async () => {
      await db.measureClock();
      await finishDeletions(db);
      await tidyInbox();
    },
  });
  const { forget, ...log } = postgresLog(db, leases, (chat, entries) => {
    watchers.appended(chat, entries);
    signals.logGrew(chat, entries.at(-1)?.sequence ?? 0);
  });
  const { endClaims, ...approvals } = postgresApprovals(db, leases);
  const vacuum = postgresVacuum(db);
  let closed: Promise<void> | undefined;

  const close = async () => {
    watchers.clear();
    vacuum.close();
    await signals.close();
    // If the database is away, both lapse after a while.
    await Promise.allSettled([releaseAll(), endClaims()]);
    await db.close();
  };

  return {
    now: db.now,
    ...postgresSessions({ db, leases, newId }),
    ...log,
    ...postgresMessages(db),
    ...postgresFiles(db),
    ...approvals,
    ...postgresChats(db),
    ...leaseMethods,
    ...inbox,
    watch: watchers.watch,

    check: db.check,

    async deleteSession(id) {
      forget(id);
      const isChat = await deletePostgresSession(db, id);
      held.delete(id);
      if (!isChat) return;
      watchers.gone(id);
      signals.chatDeleted(id);
      vacuum.soon();
    },

    async close() {
      await (closed ??= close());
    },
  };
}
