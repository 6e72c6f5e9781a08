import type { SqliteDatabase } from "./sqlite-database.ts";

/** How many rows of each table one transaction removes. A file has a row for itself, because it may be large. */
const batchSizes = {
  log: { key: "chat", rows: 500 },
  message: { key: "chat", rows: 200 },
  event: { key: "session", rows: 200 },
  file: { key: "chat", rows: 1 },
} as const;

/**
 * Removes a session with everything that belongs to it. A chat may be large, so it is first marked as deleted and loses
 * its name, its owner and its approvals, in one transaction: from then on it cannot be found. The rest goes in small
 * transactions, so that other chats go on meanwhile. If the process dies in between, the next opening removes the rest.
 */
export async function deleteSqliteSession(db: SqliteDatabase, id: string): Promise<void> {
  const isMarked = await db.transaction("FULL", () => {
    // Inner sessions are small, and their chat remains.
    if (db.run("DELETE FROM session WHERE id = ?1 AND chat <> ?1", id) > 0) return false;
    db.run("INSERT INTO auditHash SELECT chat, sequence, hash FROM audit WHERE chat = ?", id);
    const marked = db.run(
      `UPDATE session SET deleted = 1, owner = '', title = NULL, state = '{}', name = iif(chat = id, id, NULL)
       WHERE chat = ? AND deleted = 0`,
      id,
    );
    if (marked === 0) return false;
    db.run("DELETE FROM approval WHERE chat = ?", id);
    db.run("DELETE FROM audit WHERE chat = ?", id);
    db.run("DELETE FROM openTurn WHERE chat = ?", id);
    db.run("DELETE FROM endedTurn WHERE chat = ?", id);
    db.run("INSERT INTO deletion DEFAULT VALUES");
    return true;
  });
  if (!isMarked) return;
  const sessions = db.all("SELECT id FROM session WHERE chat = ?", id).map((row) => String(row["id"]));
  for (const [table, { key, rows }] of Object.entries(batchSizes)) {
    for (const each of key === "session" ? sessions : [id]) {
      const column = { log: "sequence", message: "sequence", event: "position", file: "id" }[table];
      const batch = `DELETE FROM ${table} WHERE ${key} = ?1 AND ${column} IN
        (SELECT ${column} FROM ${table} WHERE ${key} = ?1 LIMIT ${rows})`;
      while ((await db.transaction("NORMAL", () => db.run(batch, each))) > 0) await nextTask();
    }
  }
  await db.transaction("FULL", () => db.run("DELETE FROM session WHERE chat = ?", id));
}

function nextTask(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
