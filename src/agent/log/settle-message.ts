import { isToolUIPart, type UIMessage } from "ai";
import { toSafeJson } from "../../protocol/index.ts";
import type { Approval } from "../../stores/index.ts";
import { describeQuestion } from "../approval/describe-question.ts";
import { approvalToData, errorText, isUnanswered } from "../approval/outcome.ts";

/** Rows by their id and by the id of their call. */
export type RowsByCall = ReadonlyMap<string, Approval>;

export function rowsByCall(rows: readonly Approval[]): RowsByCall {
  return new Map(rows.flatMap((row) => [[row.toolCallId, row] as const, [row.id, row] as const]));
}

/** The ids of the calls and approvals that a message shows. */
export function shownIds({ parts }: UIMessage): string[] {
  return parts.flatMap((part) => {
    if (isToolUIPart(part)) return [part.toolCallId];
    return part.type === "data-approval" && "id" in part && part.id !== undefined ? [part.id] : [];
  });
}

/** A stored message with what became of its calls: the message says what was shown, the ledger what was decided, and it wins. */
export function settleMessage(message: UIMessage, rows: RowsByCall): UIMessage {
  const called = new Set<string>();
  const parts = message.parts.map((part) => {
    const isAgain = isToolUIPart(part) && called.has(part.toolCallId);
    if (isToolUIPart(part)) called.add(part.toolCallId);
    return settlePart(part, rows, isAgain);
  });
  return { ...message, parts };
}

type Part = UIMessage["parts"][number];

/** `isAgain`: the message has the call before. Its first part has the approval, and this one is only about its result. */
function settlePart(part: Part, rows: RowsByCall, isAgain: boolean): Part {
  if (part.type === "data-approval" && "id" in part) {
    const row = part.id === undefined ? undefined : rows.get(part.id);
    return row ? { ...part, data: approvalToData(row) } : part;
  }
  if (!isToolUIPart(part)) return part;
  const row = rows.get(part.toolCallId);
  if (!row) return part;
  const { type, toolCallId, input } = part;
  const named = "toolName" in part ? { toolName: part.toolName } : {};
  return { type, ...named, toolCallId, input, ...partState(isAgain ? { ...row, gated: false } : row, part) } as Part;
}

/** The question as AI SDK makes it of the chunk. */
function openQuestion(row: Approval) {
  const { descriptor, reason } = describeQuestion(row);
  return { id: row.id, ...(descriptor && { descriptor }), ...(reason !== undefined && { requestReason: reason }) };
}

/** The fields of AI SDK's tool part for a row, in a form that both majors accept. */
function partState(row: Approval, part: Part) {
  const approval = {
    approval: { id: row.id, approved: true, ...(row.reason !== undefined && { reason: row.reason }) },
  };
  const yes = row.gated ? approval : {};
  switch (row.state) {
    case "pending":
      return { state: "approval-requested", approval: openQuestion(row) };
    case "approved":
    case "executing":
      return row.gated ? { state: "approval-responded", ...approval } : { state: "input-available" };
    case "waiting":
      if (row.interim) return { state: "output-available", output: toSafeJson(row.interim), preliminary: true, ...yes };
      return row.gated ? { state: "approval-responded", ...approval } : { state: "input-available" };
    case "succeeded":
      return { state: "output-available", output: toSafeJson(row.outcome), ...yes };
    case "failed":
    case "indeterminate":
      return { state: "output-error", errorText: errorText(row), ...yes };
    case "denied":
      return {
        state: "output-denied",
        approval: { id: row.id, approved: false, ...(row.reason !== undefined && { reason: row.reason }) },
      };
    case "expired":
    case "cancelled":
      // If no one answered, both majors know only this state; the `data-approval` says what happened.
      return isUnanswered(row)
        ? { state: "output-denied", approval: { id: row.id, approved: false, reason: errorText(row) } }
        : { state: "output-error", errorText: errorText(row), ...yes };
    default:
      return part;
  }
}
