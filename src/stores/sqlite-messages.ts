import type { UIMessage } from "ai";
import type { SqliteDatabase } from "./sqlite-database.ts";
import type { Row } from "./sqlite-rows.ts";
import type { MessageStore, NewLogEntry, StoredMessage } from "./store.ts";

const saveMessage = `INSERT INTO message (chat, id, sequence, role, at, message) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (chat, id) DO UPDATE SET at = excluded.at, message = excluded.message`;

interface SqliteMessages extends MessageStore {
  /** What an entry of the log changes here. Call it inside the transaction that appends the entry. */
  applyEntry(chat: string, entry: NewLogEntry, sequence: number, at: number): void;
}

/** The table `message`. */
export function sqliteMessages(db: SqliteDatabase): SqliteMessages {
  const save = (chat: string, message: UIMessage, sequence: number, at: number) =>
    db.run(saveMessage, chat, message.id, sequence, message.role, at, JSON.stringify(message));

  return {
    applyEntry(chat, entry, sequence, at) {
      if (entry.kind === "begin" && entry.message) save(chat, entry.message, sequence, at);
      if (entry.kind === "withdraw") db.run("DELETE FROM message WHERE chat = ? AND sequence >= ?", chat, entry.from);
      if (entry.kind === "end" && entry.message) {
        const begun = db.one("SELECT sequence FROM openTurn WHERE chat = ? AND turn = ?", chat, entry.turn);
        save(chat, entry.message, Number(begun?.["sequence"] ?? sequence) + 1, at);
      }
    },

    async messages(chat, { before, limit = Infinity } = {}) {
      const earlier =
        before === undefined ? "" : "AND sequence < (SELECT sequence FROM message WHERE chat = ?1 AND id = ?3)";
      const rows = db.all(
        `SELECT * FROM message WHERE chat = ?1 ${earlier} ORDER BY sequence DESC LIMIT ?2`,
        ...[chat, limit === Infinity ? -1 : limit, ...(before === undefined ? [] : [before])],
      );
      return rows.toReversed().map(rowToMessage);
    },

    async getMessage(chat, id) {
      const row = db.one("SELECT * FROM message WHERE chat = ? AND id = ?", chat, id);
      return row && rowToMessage(row);
    },

    async lastMessage(chat, role) {
      const row = db.one(
        "SELECT * FROM message WHERE chat = ? AND role = ? ORDER BY sequence DESC LIMIT 1",
        chat,
        role,
      );
      return row && rowToMessage(row);
    },
  };
}

export function rowToMessage(row: Row): StoredMessage {
  const text = String(row["message"]);
  return {
    message: JSON.parse(text) as UIMessage,
    sequence: Number(row["sequence"]),
    at: Number(row["at"]),
    size: text.length,
  };
}
