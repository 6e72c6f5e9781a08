import { settledStates } from "./postgres-approvals.ts";
import type { Statements } from "./postgres-database.ts";
import { putEvent } from "./postgres-events.ts";
import type { Withdrawal } from "./store.ts";

/** Carries out a withdrawal. For use in the transaction that appends to the log, which has locked the chat. */
export async function applyWithdrawal(
  statements: Statements,
  chat: string,
  { events, put, closed, moved }: Withdrawal,
  time: number | null,
): Promise<void> {
  const { query } = statements;
  await Promise.all([
    query("UPDATE event SET withdrawn = true WHERE session = $1 AND position = ANY($2::bigint[])", [chat, events]),
    query("DELETE FROM response WHERE session = $1 AND position = ANY($2::bigint[])", [chat, events]),
    query("UPDATE session SET revision = revision + 1 WHERE id = $1", [chat]),
  ]);
  for (const event of put) await putEvent(statements, chat, event, time);
  await Promise.all([
    query(
      `UPDATE approval SET told = true, shown = true, due_at = NULL, version = version + 1
       WHERE id = ANY($1::text[]) AND chat = $2 AND state IN (${settledStates})`,
      [closed, chat],
    ),
    query("UPDATE approval SET placed_in = $3, version = version + 1 WHERE id = ANY($1::text[]) AND chat = $2", [
      ...[moved.rows, chat, moved.messageId],
    ]),
  ]);
}
