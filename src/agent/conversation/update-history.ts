import type { Session as AdkSession } from "@google/adk";
import { applyPlan, type Applied, markTold, type PlannedRow } from "./apply-plan.ts";
import type { ConversationContext } from "./context.ts";
import type { HistoryPlan } from "./history-plan.ts";
import { type Occasion, planHistory } from "./plan.ts";
import { rowsForPlan } from "./rows-for-plan.ts";

/** The plan that was applied, and the rows it was made of. */
export type UpdatedHistory = HistoryPlan & { rows: readonly PlannedRow[] };

/**
 * Brings a history up to date with the ledger: makes the plan, applies it, and marks what the model knows then. `send` gives
 * a live model its part before anything is marked.
 */
export async function updateHistory(
  session: AdkSession,
  chat: string,
  occasion: Occasion,
  { store, sessions, files }: Pick<ConversationContext, "store" | "sessions" | "files">,
  send: (applied: Applied, plan: HistoryPlan) => void = () => undefined,
): Promise<UpdatedHistory> {
  const rows = await files.withWholeOutcomes(await rowsForPlan(chat, session.events, store));
  const plan = planHistory({ session: session.id, events: session.events, rows }, occasion);
  const applied = await applyPlan(plan, session, sessions);
  send(applied, plan);
  await markTold(applied.tells, rows, store);
  // Another process has written some of it, and continues from there.
  return { ...(applied.isComplete ? plan : { records: plan.records, next: "wait" }), rows };
}
