import type { UIMessageChunk } from "ai";
import {
  type ApprovalData,
  type ApprovalState,
  type ApprovalView,
  isSettled,
  toSafeJson,
} from "../../protocol/index.ts";
import type { Approval } from "../../stores/index.ts";
import { describeQuestion } from "./describe-question.ts";

/**
 * A row of the ledger in the three forms it is shown in: for the model (a function response), for the chat (chunks), and
 * for its owner (a view). They are in one file so that they cannot disagree. Pure.
 */

const sentences = {
  denied: "The user rejected this call; it was not run.",
  indeterminate:
    "The call was started, but the server stopped before the outcome was recorded; nobody can know whether it took effect. Do not repeat it without asking the user.",
  unreported:
    "The call has begun, but no result was reported in time; it may have taken effect. Do not repeat it without asking the user.",
  running: "The call was approved; its outcome is not known yet.",
  interrupted: "The call was interrupted; no result is available.",
} as const;

/** What can be said of a call's effect depends on how far it was when it expired or was cancelled. */
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

/**
 * The function response for the model, or undefined while the model has to wait. A call that waits for a report has one as soon as its
 * tool has said something; the result follows in a note.
 */
export function approvalToResponse(approval: Approval): Record<string, unknown> | undefined {
  switch (approval.state) {
    case "pending":
    case "approved":
    case "executing":
      return undefined;
    case "waiting":
      return approval.interim;
    case "succeeded":
      return approval.outcome ?? { result: null };
    case "failed":
      return { ...approval.outcome, status: "failed" };
    case "denied":
      return { error: `${sentences.denied}${approval.reason ? ` Reason: ${approval.reason}` : ""}`, status: "denied" };
    case "expired":
    case "cancelled":
      return { error: endings[approval.state][progressOf(approval)], status: approval.state };
    case "indeterminate":
      return { error: unknownText(approval), status: approval.state };
  }
}

/** True while the model has to wait for this call: there is nothing to tell it. */
export function isOpen(approval: Approval): boolean {
  return approvalToResponse(approval) === undefined;
}

/** Why it is not known what became of a call. */
function unknownText(approval: Approval): string {
  const error = approval.outcome?.["error"];
  if (typeof error === "string") return error;
  return isOverdue(approval) ? sentences.unreported : sentences.indeterminate;
}

/** True if no report came in time, and so it is not known what became of the call. */
function isOverdue({ state, reportBy, finishedAt }: Approval): boolean {
  return state === "indeterminate" && reportBy !== undefined && finishedAt !== undefined && finishedAt >= reportBy;
}

function progressOf(approval: Approval): "asked" | "waiting" | "outside" {
  if (isUnanswered(approval)) return "asked";
  return approval.external ? "outside" : "waiting";
}

/** True for a question without an answer, also one that has ended. */
export function isUnanswered({ gated, decidedAt }: Approval): boolean {
  return gated && decidedAt === undefined;
}

/** What a person reads about a call without an output. */
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
    ...(approval.card && { card: approval.card }),
    expiresAt: approval.expiresAt,
    ...(approval.decidedBy !== undefined && { decidedBy: approval.decidedBy }),
    ...(approval.reason !== undefined && { reason: approval.reason }),
    ...((approval.state === "waiting" || isOverdue(approval)) && { reportBy: approval.reportBy }),
    ...(approval.state === "waiting" && approval.interim && { interim: toSafeJson(approval.interim) }),
    ...(approval.resolvedBy !== undefined && { resolvedBy: approval.resolvedBy }),
    ...(approval.state === "succeeded" && { output: toSafeJson(approval.outcome) }),
    ...(approval.state !== "succeeded" && isSettled(approval.state) && { errorText: errorText(approval) }),
  };
}

/** `data-approval` carries the state beside AI SDK's own parts. Ungated calls have none. */
export function dataApproval(approval: Approval): UIMessageChunk[] {
  return approval.gated ? [{ type: "data-approval", id: approval.id, data: approvalToData(approval) }] : [];
}

/** Ends a call that will never get a result. */
export function interruption(toolCallId: string): UIMessageChunk {
  return { type: "tool-output-error", toolCallId, errorText: interruptedResponse.error };
}

/** Asks a person; part of the step that made the call. */
export function questionChunks(approval: Approval): UIMessageChunk[] {
  const { id: approvalId, toolCallId, toolName, rawInput } = approval;
  const { descriptor, reason } = describeQuestion(approval);
  // The call was announced as the model sent it. The question is about what will run.
  const input = JSON.parse(approval.input) as unknown;
  const bound: UIMessageChunk[] =
    rawInput === undefined ? [] : [{ type: "tool-input-available", toolCallId, toolName, input }];
  const said = { ...(descriptor && { approvalDescriptor: descriptor }), ...(reason !== undefined && { reason }) };
  const request: UIMessageChunk = { type: "tool-approval-request", approvalId, toolCallId, ...said };
  return [...bound, request, ...dataApproval(approval)];
}

/**
 * The outcome of one call in the chat. `answered` is the answer that the reading client has in its own copy of the call:
 * AI SDK accepts an output only after a yes and a denial only after a no. For a question that ended without an answer (it
 * expired or was cancelled) `ai@6` accepts neither, so only the `data-approval` is sent. A call that ended like this after a
 * yes is an error, like any that failed.
 */
export function outcomeChunks(approval: Approval, answered: boolean | undefined): UIMessageChunk[] {
  const { toolCallId } = approval;
  const notice = dataApproval(approval);
  if (approval.state === "waiting") return [...notice, ...interimChunks(approval)];
  if (!isSettled(approval.state)) return notice;
  const failure = (): UIMessageChunk => ({ type: "tool-output-error", toolCallId, errorText: errorText(approval) });
  if (answered === false && approval.gated) return [...notice, { type: "tool-output-denied", toolCallId }];
  switch (approval.state) {
    case "succeeded":
      return [...notice, { type: "tool-output-available", toolCallId, output: toSafeJson(approval.outcome) }];
    case "denied":
      return [...notice, answered === true ? failure() : { type: "tool-output-denied", toolCallId }];
    case "expired":
    case "cancelled":
      return answered === true || !isUnanswered(approval) ? [...notice, failure()] : notice;
    default:
      return [...notice, failure()];
  }
}

/** What a tool said when it had begun, as AI SDK shows an output that is not the last one. */
function interimChunks({ toolCallId, interim }: Approval): UIMessageChunk[] {
  return interim ? [{ type: "tool-output-available", toolCallId, output: toSafeJson(interim), preliminary: true }] : [];
}

/** What clients may see of the rows. Calls that no one is asked about are not shown. */
export function approvalsToViews(rows: readonly Approval[]): ApprovalView[] {
  return rows.filter(({ gated }) => gated).map(approvalToView);
}

/** A row as its owner sees it. */
export function approvalToView(approval: Approval): ApprovalView {
  return {
    ...approvalToData(approval),
    id: approval.id,
    owner: approval.owner,
    ...(approval.requestedBy !== undefined && { requestedBy: approval.requestedBy }),
    messageId: approval.messageId,
    input: JSON.parse(approval.input) as unknown,
    ...(approval.rawInput !== undefined && { rawInput: JSON.parse(approval.rawInput) as unknown }),
    digest: approval.digest,
    createdAt: approval.createdAt,
    ...(approval.reportBy !== undefined && { reportBy: approval.reportBy }),
    ...(approval.hint !== undefined && { hint: approval.hint }),
    ...(approval.decidedAt !== undefined && { decidedAt: approval.decidedAt }),
    ...(approval.finishedAt !== undefined && { finishedAt: approval.finishedAt }),
  };
}

/** The outcome of a call that already has a response, or can no longer get one, as a note to the model. */
export function outcomeNote(approval: Approval, response = approvalToResponse(approval)): string {
  return contextNote(approval.toolName, approval.input, approval.state, response);
}

const unsettledStates: readonly ApprovalState[] = ["pending", "approved", "executing", "waiting"];

/** How every note to the model begins. */
export const notePrefix = "[context, not from the user]";

/** A note about an earlier call, attributed to no speaker. */
export function contextNote(tool: string, input: string, state: string, response: unknown): string {
  const isOver = !(unsettledStates as readonly string[]).includes(state);
  const progress = isOver ? `ended as ${state}` : "has not ended yet";
  return `${notePrefix} The earlier call ${tool}(${input}) ${progress}: ${JSON.stringify(response)}`;
}
