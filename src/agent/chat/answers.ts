import { BridgeError, isSettled } from "../../protocol/index.ts";
import type { UnreadJson } from "../../protocol/unread-json.ts";
import type { Approval, JsonObject } from "../../stores/index.ts";
import type { ToolOutcome } from "../adk/tool-result.ts";
import { unknownApproval } from "./errors.ts";

/** One answered part: a decision, a browser tool's result, or both. `id` is the approval's or the call's. */
export interface Answer {
  id: string;
  approved?: boolean;
  reason?: string;
  result?: ReadResult | { unread: UnreadJson };
}

/** What a browser tool returned, or why it failed. */
type ReadResult = { output: unknown } | { errorText: string };

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
export function toOutcome(given: NonNullable<Answer["result"]>): ToolOutcome {
  const result = readResult(given);
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
    answer.result = readResult(answer.result);
  }
  return [...given.values()];
}

/**
 * The answers in a form that can be sent to another node. A result that is still bytes is read if a call waits for it. Of one
 * for a settled call it counts only that the client has it. If there is no row, it is left out: most are of free tools, and
 * a call that is being recorded at this moment must not get another result than its own.
 */
export function withReadResults(answers: readonly Answer[], rows: readonly Approval[]): Answer[] {
  return answers.map(({ result, ...answer }) => {
    if (!result || !("unread" in result)) return { ...answer, ...(result && { result }) };
    const about = rows.filter(({ id, toolCallId }) => id === answer.id || toolCallId === answer.id);
    if (about.length === 0) return answer;
    const isOpen = about.some(({ state }) => !isSettled(state));
    return { ...answer, result: isOpen ? readResult(result) : { output: null } };
  });
}

/**
 * The result of a call that waits for it. The tool has run, and the client would send the same output with every later
 * answer. So an output that breaks a limit is recorded as a failure that says why, instead of refusing the request for ever.
 */
function readResult(result: NonNullable<Answer["result"]>): ReadResult {
  if (!("unread" in result)) return result;
  try {
    return { output: result.unread.read() };
  } catch (error) {
    if (!(error instanceof BridgeError) || error.code === "malformed") throw error;
    return { errorText: `The tool ran in the browser, but its output was not accepted. ${error.message}` };
  }
}
