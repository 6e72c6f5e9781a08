import type { UIMessage } from "ai";
import type { ApprovalData } from "../protocol/approval.ts";
import { isOpen, isToolPart } from "./approval-info.ts";

/** The request as AI SDK gives it to `prepareSendMessagesRequest`, in both majors. */
export interface SendMessagesRequest<UI_MESSAGE extends UIMessage> {
  id: string;
  messages: UI_MESSAGE[];
  trigger: "submit-message" | "regenerate-message";
  messageId: string | undefined;
  /** Fields that the page adds to every request. */
  body?: object | undefined;
}

/**
 * Sends only what the server has to read, instead of the whole history. For `prepareSendMessagesRequest`:
 *
 *     new DefaultChatTransport({ api: "/stream", prepareSendMessagesRequest: onlyNewMessages })
 *
 * - Of a new message: the message. The one before it goes along without its parts; by it the server recognises an edit.
 * - Of answers and results: the assistant's message, with only the parts that have some.
 * - Of the wish for another reply: the last message without its parts.
 */
export function onlyNewMessages<UI_MESSAGE extends UIMessage>(
  request: SendMessagesRequest<UI_MESSAGE>,
): { body: object } {
  const { id, trigger, messageId, body } = request;
  return { body: { ...body, id, messages: newMessages(request), trigger, messageId } };
}

type SentMessage = Pick<UIMessage, "id" | "role"> & { parts: readonly object[] };

function newMessages({
  messages,
  trigger,
  messageId,
}: Pick<SendMessagesRequest<UIMessage>, "messages" | "trigger" | "messageId">): SentMessage[] {
  const last = messages.at(-1);
  if (!last) return [];
  if (trigger === "regenerate-message") return [withoutParts(last)];
  const named = messages.find(({ id, role }) => id === messageId && role === "assistant") ?? last;
  if (named.role === "assistant") return [{ ...withoutParts(named), parts: partsToSend(named) }];
  const before = messages.at(-2);
  return [...(before ? [withoutParts(before)] : []), last];
}

function withoutParts({ id, role }: UIMessage): SentMessage {
  return { id, role, parts: [] };
}

type Part = UIMessage["parts"][number];

/** The parts with an answer or a result that the server may not have, without the arguments of the calls. */
function partsToSend({ parts }: UIMessage): object[] {
  const settled = new Set<string | undefined>(parts.flatMap((part) => settledApproval(part) ?? []));
  const sent = new Set<string>();
  return parts.flatMap((part) => {
    if (!isToolPart(part)) return [];
    const { approval, toolCallId, state } = part;
    const isOver = state.startsWith("output-");
    const isNew = isOver ? state !== "output-denied" && !settled.has(approval?.id) : approval?.approved !== undefined;
    // An approved browser tool has a second part with the same id and the same result.
    if (!isNew || sent.has(toolCallId)) return [];
    sent.add(toolCallId);
    const { input: _input, ...rest } = part;
    return [rest];
  });
}

/** The approval that the server itself has reported as settled. */
function settledApproval(part: Part): string | undefined {
  if (part.type !== "data-approval") return undefined;
  const { approvalId, state } = part.data as ApprovalData;
  return isOpen(state) ? undefined : approvalId;
}
