import type { PostgresDatabase } from "./postgres-database.ts";

/** How many rows of each table one statement removes. A file has one for itself, because it may be large. */
const batches = [
  { table: "log", key: "chat", column: "sequence", rows: 2000 },
  { table: "message", key: "chat", column: "id", rows: 500 },
  { table: "event", key: "session", column: "position", rows: 500 },
  { table: "file", key: "chat", column: "id", rows: 1 },
] as const;

/**
 * Removes a session with everything that belongs to it. A chat may be large, so it is first marked as deleted and loses
 * its name, its owner, its lease and its approvals, in one transaction: from then on it cannot be found or written to. The
 * rest goes in small statements, so that other chats go on meanwhile. If the process dies in between, another one removes
 * the rest. Returns true if there was something to delete.
 */
export async function deletePostgresSession(db: PostgresDatabase, id: string): Promise<boolean> {
  // A caller that deletes a chat must not find it afterwards, even if it does not wait.
  const isMarked = await db.transactionFirst(async ({ query }) => {
    // Inner sessions are small, and their chat remains.
    if ((await query("DELETE FROM session WHERE id = $1 AND chat <> $1", [id])).length > 0) return false;
    const marked = await query(
      `UPDATE session SET deleted = true, owner = '', title = NULL, state = '{}', lease_node = NULL,
         name = CASE WHEN chat = id THEN id END
       WHERE chat = $1 AND NOT deleted`,
      [id],
    );
    if (marked.length === 0) return false;
    await Promise.all([
      query("INSERT INTO audit_hash (chat, sequence, hash) SELECT chat, sequence, hash FROM audit WHERE chat = $1", [
        id,
      ]),
      query("DELETE FROM approval WHERE chat = $1", [id]),
      query("DELETE FROM audit WHERE chat = $1", [id]),
      query("DELETE FROM posted WHERE chat = $1", [id]),
      query("DELETE FROM open_turn WHERE chat = $1", [id]),
      query("DELETE FROM ended_turn WHERE chat = $1", [id]),
    ]);
    return true;
  });
  if (isMarked) await deleteMarked(db, id);
  return isMarked;
}

/** Goes on with deletions whose process has died. */
export async function finishDeletions(db: PostgresDatabase): Promise<void> {
  const rows = await db.query("SELECT id FROM session WHERE deleted AND chat = id LIMIT 100");
  for (const row of rows) await deleteMarked(db, String(row["id"]));
}

async function deleteMarked(db: PostgresDatabase, id: string): Promise<void> {
  const sessions = (await db.query("SELECT id FROM session WHERE chat = $1", [id])).map((row) => String(row["id"]));
  for (const { table, key, column, rows } of batches) {
    for (const each of key === "session" ? sessions : [id]) {
      const sql = `DELETE FROM ${table} WHERE ${key} = $1 AND ${column} IN
        (SELECT ${column} FROM ${table} WHERE ${key} = $1 LIMIT ${rows})`;
      while ((await db.query(sql, [each])).length === rows);
    }
  }
  await db.query("DELETE FROM session WHERE chat = $1", [id]);
}
