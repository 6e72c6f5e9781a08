import type { ApprovalInfo, CardState } from "../client/chat-approvals.ts";
import type { ApprovalCard } from "../protocol/card.ts";

/** Any part of a message. */
export interface MessagePart {
  type: string;
}

/** The fields of AI SDK's tool parts that say something about an approval, in all its majors. */
interface ToolPart extends MessagePart {
  toolName?: string;
  toolCallId?: string;
  state?: string;
  input?: unknown;
  output?: unknown;
  errorText?: string;
  preliminary?: boolean;
  approval?: { id: string; approved?: boolean; reason?: string; descriptor?: unknown };
}

/** The id of the approval that a part has. */
export function approvalIdOf(part: MessagePart): string | undefined {
  const { approval } = part as ToolPart;
  return typeof approval?.id === "string" ? approval.id : undefined;
}

/** What a part says about its approval, while the chat does not know the approval yet. */
export function infoOfPart(part: MessagePart, approvalId: string): ApprovalInfo {
  const { toolCallId = "", state = "", input, output, errorText, approval } = part as ToolPart;
  const { hint, ...card } = Object(approval?.descriptor ?? {}) as ApprovalCard;
  const answer = approval?.approved === undefined ? undefined : { approved: approval.approved };
  return {
    approvalId,
    toolCallId,
    toolName: toolNameOf(part),
    state: stateOf(state, answer?.approved),
    input,
    card,
    // It may be the tool's own.
    ...(typeof hint === "string" && { hint }),
    ...(output !== undefined && { output }),
    ...(errorText !== undefined && { errorText }),
    ...(answer && { answer }),
    ...(approval?.reason !== undefined && { reason: approval.reason }),
  };
}

function toolNameOf(part: MessagePart): string {
  const { toolName, type } = part as ToolPart;
  return toolName ?? type.replace(/^tool-/, "");
}

function stateOf(state: string, approved: boolean | undefined): CardState {
  if (state === "output-available") return "done";
  if (state === "output-error") return approved === false ? "denied" : "failed";
  if (state === "output-denied") return "denied";
  return state === "approval-responded" ? "sending" : "asked";
}
