import type { SqliteDatabase } from "./sqlite-database.ts";
import type { Row } from "./sqlite-rows.ts";
import { requireChat } from "./sqlite-sessions.ts";
import type { FileStore, StoredFile } from "./store.ts";

const insertFile = `INSERT INTO file (chat, id, mediaType, name, size, at, data) VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT DO NOTHING`;

/** The table `file`. */
export function sqliteFiles(db: SqliteDatabase, { now }: { now: () => number }): FileStore {
  return {
    async saveFile({ id, chat, mediaType, name, data }) {
      // The bytes are copied into the database only if they are new.
      if (db.one("SELECT 1 FROM file WHERE chat = ? AND id = ?", chat, id)) return;
      await db.transaction("FULL", () => {
        requireChat(db, chat);
        db.run(insertFile, chat, id, mediaType, name ?? null, data.byteLength, now(), data);
      });
    },

    async getFile(chat, id, { maxBytes = Number.MAX_SAFE_INTEGER } = {}) {
      return rowToFile(db.one("SELECT * FROM file WHERE chat = ? AND id = ? AND size <= ?", chat, id, maxBytes));
    },

    async findFile(owner, id, appName) {
      return rowToFile(
        db.one(
          `SELECT file.* FROM file JOIN session ON session.id = file.chat
           WHERE file.id = ? AND session.owner = ? AND session.appName = ? LIMIT 1`,
          ...[id, owner, appName],
        ),
      );
    },
  };
}

function rowToFile(row: Row | undefined): StoredFile | undefined {
  if (!row) return undefined;
  const { id, chat, mediaType, name, at, data } = row;
  return {
    ...{ id: String(id), chat: String(chat), mediaType: String(mediaType), at: Number(at), data: data as Uint8Array },
    ...(name !== null && { name: String(name) }),
  };
}
