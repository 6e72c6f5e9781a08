import type { UIMessage } from "ai";
import type { PostgresDatabase, Statements } from "./postgres-database.ts";
import { type Row, text } from "./postgres-rows.ts";
import type { ChatStore, MessageStore, NewLogEntry, StoredMessage } from "./store.ts";

/** A reply is placed directly after the beginning of its turn. */
const saveMessage = `INSERT INTO message (chat, id, sequence, role, at, message)
  SELECT $1, $2, coalesce((SELECT sequence + 1 FROM open_turn WHERE chat = $1 AND turn = $7), $3), $4, $5, $6
  ON CONFLICT (chat, id) DO UPDATE SET at = excluded.at, message = excluded.message`;
const endTurn = `WITH ended AS (DELETE FROM open_turn WHERE chat = $1 AND turn = $2 RETURNING chat, turn, sequence)
  INSERT INTO ended_turn (chat, turn, sequence, last, at) SELECT chat, turn, sequence, $3, $4 FROM ended`;
const columns = "message, sequence, at";

/** What an entry of the log changes beside it. For use in the transaction that appends the entry, after it. */
export function applyEntry(
  { query }: Statements,
  chat: string,
  entry: NewLogEntry,
  sequence: number,
  at: number,
): Promise<unknown>[] {
  const save = (message: UIMessage | undefined, place: number, turn: string | null) =>
    message ? [query(saveMessage, [chat, message.id, place, message.role, at, JSON.stringify(message), turn])] : [];
  const noteChange = () => query("UPDATE session SET updated_at = $2 WHERE id = $1", [chat, at]);
  switch (entry.kind) {
    case "begin":
      return [
        noteChange(),
        query("INSERT INTO open_turn (chat, turn, sequence) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", [
          ...[chat, entry.turn, sequence],
        ]),
        ...save(entry.message, sequence, null),
      ];
    case "withdraw":
      return [query("DELETE FROM message WHERE chat = $1 AND sequence >= $2", [chat, entry.from])];
    case "end":
      return [
        noteChange(),
        ...save(entry.message, sequence + 1, entry.turn),
        query(endTurn, [chat, entry.turn, sequence, at]),
      ];
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
