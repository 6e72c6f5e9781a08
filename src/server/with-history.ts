import type { Submission } from "../agent/index.ts";
import type { ChatRequest } from "../protocol/index.ts";
import { earlierMessages } from "./earlier-messages.ts";

/** Adds the messages before a new one as its history, if it begins a chat because the request names none. */
export function withHistory(
  submission: Submission,
  { messages }: Pick<ChatRequest, "messages">,
  chat: string | undefined,
): Submission {
  if (chat !== undefined || submission.type !== "message") return submission;
  return { ...submission, history: earlierMessages(messages) };
}
