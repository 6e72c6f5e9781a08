import { BridgeError } from "../protocol/index.ts";
import { type PostgresDatabase, sqlNow } from "./postgres-database.ts";
import { type Row, text } from "./postgres-rows.ts";
import type { FileStore, StoredFile } from "./store.ts";

/** Locks the chat against its deletion, which would otherwise miss the file. */
const insertFile = `
WITH there AS (SELECT id FROM session WHERE id = $1 AND chat = id AND NOT deleted FOR SHARE),
added AS (
  INSERT INTO file (chat, id, media_type, name, size, at, data)
  SELECT id, $2, $3, $4, $5, ${sqlNow(6)}, $7 FROM there ON CONFLICT DO NOTHING)
SELECT id FROM there`;

/** The table `file`. */
export function postgresFiles(db: PostgresDatabase): FileStore {
  return {
    async saveFile({ id, chat, mediaType, name, data }) {
      // The bytes are sent only if they are new.
      const [known] = await db.query("SELECT 1 FROM file WHERE chat = $1 AND id = $2", [chat, id]);
      if (known) return;
      const values = [chat, id, mediaType, name ?? null, data.byteLength, db.time(), data];
      const [row] = await db.query(insertFile, values);
      if (!row) throw new BridgeError("not_found", `There is no chat ${chat}.`);
    },

    async getFile(chat, id, { maxBytes = Number.MAX_SAFE_INTEGER } = {}) {
      const sql = "SELECT * FROM file WHERE chat = $1 AND id = $2 AND size <= $3::bigint";
      const [row] = await db.query(sql, [chat, id, maxBytes]);
      return row && rowToFile(row);
    },

    async findFile(owner, id, appName) {
      const [row] = await db.query(
        `SELECT file.* FROM file JOIN session ON session.id = file.chat
         WHERE file.id = $1 AND session.owner = $2 AND session.app_name = $3 LIMIT 1`,
        [id, owner, appName],
      );
      return row && rowToFile(row);
    },
  };
}

function rowToFile({ id, chat, media_type: mediaType, name, at, data }: Row): StoredFile {
  return {
    ...{ id: text(id), chat: text(chat), mediaType: text(mediaType), at: Number(at) },
    data: new Uint8Array(data as Uint8Array),
    ...(name !== null && { name: text(name) }),
  };
}
