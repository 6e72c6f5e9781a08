import type { UIMessageChunk } from "ai";
import { type ApprovalData, type ApprovalView, isSettled } from "../protocol/index.ts";
import type { Approval } from "../stores/index.ts";

/**
 * A settled row in the three languages it is told in: to the model (a function response), to the chat (chunks), and to
 * whoever reads the ledger (a view). One file, so that they cannot disagree.
 */

const sentences = {
  denied: "The user rejected this call; it was not run.",
  indeterminate:
    "The call was started, but the server stopped before the outcome was recorded; nobody can know whether it took effect. Do not repeat it without asking the user.",
  running: "The call was started; its outcome is not known yet.",
  interrupted: "The call was interrupted; no result is available.",
} as const;

/** Where a call stood when its time was over or it was cancelled decides what can be said of its effect. */
const endings = {
  expired: {
    asked: "Nobody answered the approval request in time; the call was not run.",
    waiting: "The call was not started in time; it was not run.",
    outside: "No result of the call came in time; it may have taken effect.",
  },
  cancelled: {
    asked: "The call was cancelled before it was approved; it was not run.",
    waiting: "The call was cancelled before it was started; it was not run.",
    outside: "The call was cancelled before its result came; it may have taken effect.",
  },
} as const;

export const interruptedResponse = { error: sentences.interrupted, status: "interrupted" };
export const runningResponse = { error: sentences.running, status: "executing" };

/** What the model is told in answer to the call; undefined while there is nothing to tell. */
export function approvalToResponse(approval: Approval): Record<string, unknown> | undefined {
  switch (approval.state) {
    case "pending":
    case "approved":
    case "executing":
      return undefined;
    case "succeeded":
      return approval.outcome ?? { result: null };
    case "failed":
      return { ...approval.outcome, status: "failed" };
    case "denied":
      return { error: `${sentences.denied}${approval.reason ? ` Reason: ${approval.reason}` : ""}`, status: "denied" };
    case "expired":
    case "cancelled":
      return { error: endings[approval.state][standing(approval)], status: approval.state };
    case "indeterminate":
      return { error: sentences.indeterminate, status: approval.state };
  }
}

function standing({ gated, decidedAt, external }: Approval): "asked" | "waiting" | "outside" {
  if (gated && decidedAt === undefined) return "asked";
  return external ? "outside" : "waiting";
}

/** What a person reads of a call that has no output. */
export function errorText(approval: Approval): string {
  const response = approvalToResponse(approval);
  return typeof response?.["error"] === "string" ? response["error"] : "The call failed.";
}

export function approvalToData(approval: Approval): ApprovalData {
  return {
    approvalId: approval.id,
    toolCallId: approval.toolCallId,
    toolName: approval.toolName,
    state: approval.state,
    expiresAt: approval.expiresAt,
    ...(approval.decidedBy !== undefined && { decidedBy: approval.decidedBy }),
    ...(approval.reason !== undefined && { reason: approval.reason }),
    ...(approval.state === "succeeded" && { output: approval.outcome }),
    ...(approval.state !== "succeeded" && isSettled(approval.state) && { errorText: errorText(approval) }),
  };
}

/** `data-approval`: how the state travels beside the stock parts. Calls nobody is asked about have none. */
export function dataApproval(approval: Approval): UIMessageChunk[] {
  return approval.gated ? [{ type: "data-approval", id: approval.id, data: approvalToData(approval) }] : [];
}

/** The end of a call that nobody will answer any more. */
export function interruption(toolCallId: string): UIMessageChunk {
  return { type: "tool-output-error", toolCallId, errorText: interruptedResponse.error };
}

/** The question to a person, in the step of its call. */
export function questionChunks(approval: Approval): UIMessageChunk[] {
  const { id: approvalId, toolCallId, hint } = approval;
  const descriptor = hint === undefined ? {} : { approvalDescriptor: { hint } };
  return [{ type: "tool-approval-request", approvalId, toolCallId, ...descriptor }, ...dataApproval(approval)];
}

/**
 * The outcome of one call in the chat. `answered` is what the reader's own client believes it said about it: AI SDK
 * accepts an output only after a yes and a denial only after a no, and without an answer (nobody gave one in time)
 * `ai@6` accepts neither, so then the notice stands alone.
 */
export function outcomeChunks(approval: Approval, answered: boolean | undefined): UIMessageChunk[] {
  const { toolCallId } = approval;
  const notice = dataApproval(approval);
  if (!isSettled(approval.state)) return notice;
  const failure = (): UIMessageChunk => ({ type: "tool-output-error", toolCallId, errorText: errorText(approval) });
  if (answered === false && approval.gated) return [...notice, { type: "tool-output-denied", toolCallId }];
  switch (approval.state) {
    case "succeeded":
      return [...notice, { type: "tool-output-available", toolCallId, output: approval.outcome }];
    case "denied":
      return [...notice, answered === true ? failure() : { type: "tool-output-denied", toolCallId }];
    case "expired":
    case "cancelled":
      return answered === true || !approval.gated ? [...notice, failure()] : notice;
    default:
      return [...notice, failure()];
  }
}

/** A row for its owner's eyes. */
export function approvalToView(approval: Approval): ApprovalView {
  return {
    ...approvalToData(approval),
    id: approval.id,
    messageId: approval.messageId,
    input: JSON.parse(approval.input) as unknown,
    digest: approval.digest,
    createdAt: approval.createdAt,
    ...(approval.hint !== undefined && { hint: approval.hint }),
    ...(approval.decidedAt !== undefined && { decidedAt: approval.decidedAt }),
    ...(approval.finishedAt !== undefined && { finishedAt: approval.finishedAt }),
  };
}

/** The outcome of a call whose response slot is used or gone, as context behind it. */
export function lateNote(approval: Approval): string {
  return contextNote(approval.toolName, approval.input, approval.state, approvalToResponse(approval));
}

/** What became of an earlier call, in words that are nobody's. */
export function contextNote(tool: string, input: string, state: string, response: unknown): string {
  return `[context, not from the user] The earlier call ${tool}(${input}) ended as ${state}: ${JSON.stringify(response)}`;
}
