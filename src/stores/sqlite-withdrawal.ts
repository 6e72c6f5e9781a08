import { isSettled } from "../protocol/index.ts";
import type { SqliteDatabase } from "./sqlite-database.ts";
import { approvalToParameters, rowToApproval, updateApproval } from "./sqlite-rows.ts";
import { putEvent, raiseRevision } from "./sqlite-sessions.ts";
import type { Withdrawal } from "./store.ts";

/** Checks a withdrawal, and returns what carries it out. Call that inside the transaction that appends to the log. */
export function prepareWithdrawal(
  db: SqliteDatabase,
  chat: string,
  { events, put, closed, moved }: Withdrawal,
  now: () => number,
): () => void {
  const puts = put.map((event) => putEvent(db, chat, event, now));
  const positions = JSON.stringify(events);
  return () => {
    const leaving = "session = ? AND position IN (SELECT value FROM json_each(?))";
    db.run(`UPDATE event SET withdrawn = 1 WHERE ${leaving}`, chat, positions);
    db.run(`DELETE FROM response WHERE ${leaving}`, chat, positions);
    db.run(raiseRevision, chat);
    for (const each of puts) each();
    for (const id of closed) {
      const row = rowToApproval(db.one("SELECT * FROM approval WHERE id = ? AND chat = ?", id, chat));
      if (!row || !isSettled(row.state)) continue;
      const marked = approvalToParameters({ ...row, told: true, shown: true }, "moves");
      db.runNamed(updateApproval, { ...marked, id, oldState: row.state, oldFence: row.fence });
    }
    for (const id of moved.rows)
      db.run("UPDATE approval SET placedIn = ? WHERE id = ? AND chat = ?", moved.messageId, id, chat);
  };
}
