import { postgresAppend } from "./postgres-append.ts";
import { sqlNotElsewhere } from "./postgres-approvals.ts";
import type { PostgresDatabase } from "./postgres-database.ts";
import { toLogEntry } from "./postgres-entries.ts";
import type { PostgresLeases } from "./postgres-leases.ts";
import { sqlLimit } from "./postgres-messages.ts";
import { text } from "./postgres-rows.ts";
import type { LogEntry, LogStore } from "./store.ts";

interface PostgresLog extends Omit<LogStore, "watch"> {
  /** Forgets what is known of a chat that is about to be deleted. */
  forget(chat: string): void;
}

/** The tables `log`, `open_turn` and `ended_turn`. */
export function postgresLog(
  db: PostgresDatabase,
  leases: PostgresLeases,
  onAppended: (chat: string, entries: LogEntry[]) => void,
): PostgresLog {
  const { append, forget } = postgresAppend(db, leases, onAppended);
  return {
    append,
    forget,

    async read(chat, { after = 0, limit = Infinity } = {}) {
      const rows = await db.query(
        "SELECT sequence, at, turn, entry FROM log WHERE chat = $1 AND sequence > $2 ORDER BY sequence LIMIT $3::bigint",
        [chat, after, sqlLimit(limit)],
      );
      return rows.map((row) =>
        toLogEntry({ turn: text(row["turn"]), text: text(row["entry"]) }, Number(row["sequence"]), Number(row["at"])),
      );
    },

    async lastSequence(chat) {
      const [row] = await db.query("SELECT last_sequence FROM session WHERE id = $1 AND NOT deleted", [chat]);
      return Number(row?.["last_sequence"] ?? 0);
    },

    async openTurns({ chat, appName } = {}) {
      const ofApp = (name: number) =>
        `($${name}::text IS NULL OR EXISTS (SELECT 1 FROM session WHERE session.id = open_turn.chat AND app_name = $${name}))`;
      const columns = "SELECT chat, turn, sequence FROM open_turn";
      const rows =
        chat === undefined
          ? await db.query(`${columns} WHERE ${sqlNotElsewhere("open_turn.chat", 1)} AND ${ofApp(3)} ORDER BY opened`, [
              ...[leases.node, db.time(), appName ?? null],
            ])
          : await db.query(`${columns} WHERE chat = $1 AND ${ofApp(2)} ORDER BY opened`, [chat, appName ?? null]);
      return rows.map((row) => ({
        ...{ chat: text(row["chat"]), turn: text(row["turn"]), sequence: Number(row["sequence"]) },
      }));
    },
  };
}
