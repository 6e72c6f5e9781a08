import type { UIMessageChunk } from "ai";
import { isSettled } from "../../protocol/index.ts";
import type { Approval, Store } from "../../stores/index.ts";
import { callInPage } from "../approval/call-in-page.ts";
import type { Executor } from "../approval/executor.ts";
import { outcomeChunks } from "../approval/outcome.ts";

/** Answers that changed nothing, because they came before. */
export interface RepeatedAnswers {
  chat: string;
  /** The approvals. */
  ids: readonly string[];
  /** What was said about each approval. */
  said: readonly (readonly [string, boolean])[];
  /** The message that the answers are about. */
  messageId: string;
  /** The calls run at another node, if they run. */
  runsElsewhere?: boolean;
}

/** How long a repeated answer waits for a call that runs at another node, and how often it looks. */
const waitMs = 60_000;
const pollMs = 250;

/**
 * What became of each call, without a model call. It ends with a step, and the metadata makes clients publish it: stock
 * clients look for answers after the last step only, and would send the same ones for ever.
 */
export async function* repeatedOutcomes(
  { chat, ids, messageId, runsElsewhere, ...answers }: RepeatedAnswers,
  { store, executor }: { store: Store; executor: Pick<Executor, "attempt"> },
): AsyncGenerator<UIMessageChunk> {
  const said = new Map(answers.said);
  yield { type: "start", messageId };
  const notices: UIMessageChunk[] = [];
  for (const id of ids) {
    const approval = await (executor.attempt(id) ?? (runsElsewhere ? ended(id, store) : store.getApproval(id)));
    if (!approval) continue;
    const chunks = outcomeChunks(approval, said.get(id) ?? approval.state !== "denied");
    notices.push(...chunks.filter(({ type }) => type === "data-approval"));
    if (approval.messageId !== messageId) continue;
    notices.push(...callInPage(approval));
    yield* chunks.filter(({ type }) => type !== "data-approval");
  }
  yield* [{ type: "start-step" }, ...notices, { type: "finish-step" }] satisfies UIMessageChunk[];
  const rows = await store.listApprovals({ chat, messageId });
  const waits = rows.some((row) => !isSettled(row.state));
  yield { type: "finish", finishReason: waits ? "tool-calls" : "stop", messageMetadata: {} };
}

/** The row of a call at another node: when the call has ended, or after a while. */
async function ended(id: string, store: Store): Promise<Approval | undefined> {
  const until = performance.now() + waitMs;
  for (;;) {
    const row = await store.getApproval(id);
    if (row?.state !== "executing" || performance.now() > until) return row;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}
