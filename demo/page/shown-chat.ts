import type { ApprovalInfo, ChatApprovals } from "adk-stream-protocol/client";
import { isToolUIPart, type UIMessage } from "ai";

/** A chat as it is drawn. One without functions can only be read. */
export interface ShownChat {
  messages: readonly UIMessage[];
  approvals: ChatApprovals;
  /** How far the clock of the cards' times is ahead of the browser's, in milliseconds. */
  clockOffset: number;
  /** A reply is being made. False while it waits for someone. */
  isBusy: boolean;
  /** The ids of the messages that could not be sent. */
  unsent: readonly string[];
  resend?: (messageId: string) => void;
  discard?: (messageId: string) => void;
  /** Sends other words in the place of a message. What follows it is withdrawn. */
  edit?: (messageId: string, text: string) => void;
  /** Has a reply made again. What follows it is withdrawn. */
  again?: (messageId: string) => void;
  /** Does what failed once more. */
  retry?: () => void;
}

/** The calls of these messages that need a yes, in their order. */
export function cardsOf(messages: readonly UIMessage[], approvals: Pick<ChatApprovals, "get">): ApprovalInfo[] {
  const ids = messages.flatMap(({ parts }) => parts.flatMap((part) => (isToolUIPart(part) && part.approval?.id) || []));
  return [...new Set(ids)].flatMap((id) => approvals.get(id) ?? []);
}
