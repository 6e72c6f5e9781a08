import type { UIMessageChunk } from "ai";

/** The yes that a stock chat sends to the question in these chunks: the body of a request, or of a `message` frame. */
export function approvalAnswer(chat: string, question: readonly UIMessageChunk[]): object {
  const start = question.find((chunk) => chunk.type === "start");
  const request = question.find((chunk) => chunk.type === "tool-approval-request");
  if (start?.type !== "start" || request?.type !== "tool-approval-request")
    throw new Error("No approval was asked for.");
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
