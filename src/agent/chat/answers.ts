import { BridgeError, isSettled } from "../../protocol/index.ts";
import type { Approval, JsonObject } from "../../stores/index.ts";
import type { ToolOutcome } from "../adk/tool-result.ts";
import { unknownApproval } from "./errors.ts";

/** One answered part: a decision, a browser tool's result, or both. `id` is the approval's or the call's. */
export interface Answer {
  id: string;
  approved?: boolean;
  reason?: string;
  result?: { output: unknown } | { errorText: string };
}

/** What one request says about one row. */
export interface Given {
  approval: Approval;
  answer: Answer;
  /** The client's copy already has an outcome for this call. */
  shown: boolean;
}

/** True when the row went the way of this decision. */
export function matchesDecision(approval: Approval, approved: boolean): boolean {
  if (approval.decidedAt === undefined) return !approval.gated && approved;
  return approved === (approval.state !== "denied") && approval.state !== "expired" && approval.state !== "cancelled";
}

/** A browser tool's result as the outcome of its call. */
export function toOutcome(result: NonNullable<Answer["result"]>): ToolOutcome {
  if ("errorText" in result) return { event: "fail", outcome: { error: result.errorText } };
  const { output } = result;
  const isObject = typeof output === "object" && output !== null && !Array.isArray(output);
  return { event: "succeed", outcome: isObject ? (output as JsonObject) : { result: output ?? null } };
}

/**
 * Finds the row of each answer and joins all answers about the same row. A row of another chat or owner counts as missing.
 * Throws before anything is decided.
 */
export async function resolveAnswers(
  answers: readonly Answer[],
  rows: readonly Approval[],
  isClientCall: (approval: Approval) => Promise<boolean>,
): Promise<Given[]> {
  const given = new Map<string, Given>();
  for (const answer of answers) {
    const approval = rows.find(({ id, toolCallId }) => id === answer.id || toolCallId === answer.id);
    if (!approval) {
      if (answer.approved !== undefined) throw unknownApproval(answer.id);
      continue; // the output of a free tool in the client's copy of the history
    }
    const { id, toolCallId } = approval;
    if (answer.approved === undefined && answer.id === id && id !== toolCallId)
      throw new BridgeError("invalid", `The answer to approval ${id} must be true or false; this one decides nothing.`);
    const earlier = given.get(id)?.answer;
    if (earlier?.approved !== undefined && answer.approved !== undefined && earlier.approved !== answer.approved)
      throw new BridgeError("invalid", `Approval ${id} is answered both ways in one request; nothing was decided.`);
    const merged = { ...earlier, ...answer, id };
    given.set(id, { approval, answer: merged, shown: merged.result !== undefined });
  }
  for (const { approval, answer } of given.values()) {
    if (!answer.result || isSettled(approval.state)) continue;
    if (!(await isClientCall(approval)))
      throw new BridgeError(
        "conflict",
        `The call ${approval.toolCallId} runs on the server; its result is not the client's to give.`,
      );
    if (approval.state === "pending" && answer.approved === undefined)
      throw new BridgeError(
        "conflict",
        `The call ${approval.toolCallId} waits for approval ${approval.id}; its result came without a yes.`,
      );
  }
  return [...given.values()];
}
