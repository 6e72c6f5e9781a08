import type { UIMessage } from "ai";
import { denialToError, messageToChunks } from "./message-to-chunks.ts";
import type { View } from "./view.ts";

/** Adds the earlier parts of the message after `start`, for a reader that has nothing of it. */
export function withReplay(view: View, message: UIMessage | undefined): View {
  if (!message) return view;
  const chunks = messageToChunks(message);
  const settled = new Set(chunks.flatMap((chunk) => (chunk.type === "tool-output-error" ? [chunk.toolCallId] : [])));
  return async (chunk) => {
    // The replay leaves out the question of an answered call, and AI SDK accepts a denial only after a question.
    if (chunk.type === "tool-output-denied")
      return settled.has(chunk.toolCallId) ? [] : view(denialToError(chunk.toolCallId, undefined));
    const seen = await view(chunk);
    return chunk.type === "start" ? [...seen, ...chunks] : seen;
  };
}
