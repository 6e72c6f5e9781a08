import type { UIMessageChunk } from "ai";

/** The approval that `useChat` sends for the request in these chunks: the body of an HTTP request or `message` frame. */
export function approvalAnswer(chat: string, question: readonly UIMessageChunk[]): object {
  const start = question.find((chunk) => chunk.type === "start");
  const request = question.find((chunk) => chunk.type === "tool-approval-request");
  if (start?.type !== "start" || request?.type !== "tool-approval-request")
    throw new Error("The chunks contain no approval request.");
  const { approvalId, toolCallId } = request;
  const part = {
    type: "tool-pay",
    toolCallId,
    state: "approval-responded",
    input: {},
    approval: { id: approvalId, approved: true },
  };
  return {
    id: chat,
    messages: [{ id: start.messageId, role: "assistant", parts: [part] }],
    messageId: start.messageId,
  };
}
