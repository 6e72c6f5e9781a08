import type { UIMessage } from "ai";
import type { PostgresDatabase, Statements } from "./postgres-database.ts";
import { type Row, text } from "./postgres-rows.ts";
import { notOpen } from "./logged-entry.ts";
import type { ChatStore, MessageStore, NewLogEntry, StoredMessage } from "./store.ts";

const beginTurn = `INSERT INTO open_turn (chat, turn, sequence) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`;
/** The turn, its last number and its time; then the reply, which is placed directly after the beginning of the turn. */
const endTurn = `
WITH opened AS (DELETE FROM open_turn WHERE chat = $1 AND turn = $2 RETURNING chat, turn, sequence),
ended AS (INSERT INTO ended_turn (chat, turn, sequence, last, at) SELECT chat, turn, sequence, $3, $4 FROM opened),
said AS (
  INSERT INTO message (chat, id, sequence, role, at, message)
  SELECT $1, $5, sequence + 1, $6, $4, $7 FROM opened WHERE $5::text IS NOT NULL
  ON CONFLICT (chat, id) DO UPDATE SET at = excluded.at, message = excluded.message)
SELECT turn FROM opened`;
const saveMessage = `INSERT INTO message (chat, id, sequence, role, at, message) VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT (chat, id) DO UPDATE SET at = excluded.at, message = excluded.message`;
const columns = "message, sequence, at";

/** What an entry of the log changes beside it. For use in the transaction that appends the entry, after it. */
export function applyEntry(
  { query }: Statements,
  chat: string,
  entry: NewLogEntry,
  sequence: number,
  at: number,
): Promise<unknown>[] {
  switch (entry.kind) {
    case "begin": {
      const { turn, message } = entry;
      const begun = query(beginTurn, [chat, turn, sequence]);
      if (!message) return [begun];
      return [begun, query(saveMessage, [chat, message.id, sequence, message.role, at, JSON.stringify(message)])];
    }
    case "withdraw":
      return [query("DELETE FROM message WHERE chat = $1 AND sequence >= $2", [chat, entry.from])];
    case "end": {
      const { turn, message } = entry;
      const reply = message ? [message.id, message.role, JSON.stringify(message)] : [null, null, null];
      const ended = query(endTurn, [chat, turn, sequence, at, ...reply]);
      return [
        ended.then(([open]) => {
          if (!open) throw notOpen(turn);
        }),
      ];
    }
    default:
      return [];
  }
}

/** The table `message`. */
export function postgresMessages(db: PostgresDatabase): MessageStore & Pick<ChatStore, "messagesAfter"> {
  return {
    async messages(chat, { before, limit = Infinity } = {}) {
      const earlier =
        before === undefined ? "" : "AND sequence < (SELECT sequence FROM message WHERE chat = $1 AND id = $3)";
      const rows = await db.query(
        `SELECT ${columns} FROM message WHERE chat = $1 ${earlier} ORDER BY sequence DESC, id DESC LIMIT $2::bigint`,
        [chat, sqlLimit(limit), ...(before === undefined ? [] : [before])],
      );
      return rows.toReversed().map(rowToMessage);
    },

    async getMessage(chat, id) {
      const [row] = await db.query(`SELECT ${columns} FROM message WHERE chat = $1 AND id = $2`, [chat, id]);
      return row && rowToMessage(row);
    },

    async lastMessage(chat, role) {
      const [row] = await db.query(
        `SELECT ${columns} FROM message WHERE chat = $1 AND role = $2 ORDER BY sequence DESC LIMIT 1`,
        [chat, role],
      );
      return row && rowToMessage(row);
    },

    async messagesAfter(chat, { after = 0, limit = Infinity } = {}) {
      const rows = await db.query(
        `SELECT ${columns} FROM message WHERE chat = $1 AND sequence > $2 ORDER BY sequence, id LIMIT $3::bigint`,
        [chat, after, sqlLimit(limit)],
      );
      return rows.map(rowToMessage);
    },
  };
}

/** PostgreSQL reads NULL as "no limit". */
export function sqlLimit(limit: number): number | null {
  return limit === Infinity ? null : limit;
}

function rowToMessage(row: Row): StoredMessage {
  const json = text(row["message"]);
  return {
    message: JSON.parse(json) as UIMessage,
    sequence: Number(row["sequence"]),
    at: Number(row["at"]),
    size: json.length,
  };
}
