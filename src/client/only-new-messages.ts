import type { UIMessage } from "ai";
import { approvalDataOf, isSettled, isToolPart } from "./approval-info.ts";

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
export function onlyNewMessages<UI_MESSAGE extends UIMessage>({
  id,
  messages,
  trigger,
  messageId,
  body,
}: SendMessagesRequest<UI_MESSAGE>): { body: object } {
  return { body: { ...body, id, messages: newMessages(messages, trigger, messageId), trigger, messageId } };
}

type SentMessage = Pick<UIMessage, "id" | "role"> & { parts: readonly object[] };

function newMessages(messages: readonly UIMessage[], trigger: string, messageId: string | undefined): SentMessage[] {
  const last = messages.at(-1);
  if (!last) return [];
  if (trigger === "regenerate-message") return [withoutParts(last)];
  const named = messages.find(({ id, role }) => id === messageId && role === "assistant") ?? last;
  if (named.role === "assistant") return [{ ...withoutParts(named), parts: partsToSend(named) }];
  return [...messages.slice(-2, -1).map(withoutParts), last];
}

function withoutParts({ id, role }: UIMessage): SentMessage {
  return { id, role, parts: [] };
}

/** The parts with an answer or a result that the server may not have, without the arguments of the calls. */
function partsToSend(message: UIMessage): object[] {
  const reports = approvalDataOf([message]);
  const sent = new Set<string>();
  return message.parts.flatMap((part) => {
    if (!isToolPart(part)) return [];
    const { input: _input, ...rest } = part;
    const { approval, toolCallId, state } = rest;
    const isNew = state.startsWith("output-")
      ? // The server itself has reported the others.
        state !== "output-denied" && !isSettled(reports.get(approval?.id ?? ""))
      : approval?.approved !== undefined;
    // An approved browser tool has a second part with the same id and the same result.
    if (!isNew || sent.has(toolCallId)) return [];
    sent.add(toolCallId);
    return [rest];
  });
}
