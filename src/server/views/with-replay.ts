import type { UIMessage } from "ai";
import { denialToError, messageToChunks, type ReplayOptions } from "./message-to-chunks.ts";
import { settledCall } from "./settled-call.ts";
import type { View } from "./view.ts";

/** Adds the earlier parts of the message after `start`, for a reader that has nothing of it. */
export function withReplay(view: View, message: UIMessage | undefined, options: ReplayOptions): View {
  if (!message) return view;
  const chunks = messageToChunks(message, options);
  const settled = new Set(chunks.flatMap((chunk) => settledCall(chunk) ?? []));
  const { knowsDecisions } = options;
  return async (chunk) => {
    const outcomeOf = settledCall(chunk);
    // The replay is newer than the turn: it has this outcome, in the form that fits the decision in the replay.
    if (knowsDecisions && outcomeOf !== undefined && settled.has(outcomeOf)) return [];
    // Without decisions the replay leaves out the question of an answered call, and AI SDK accepts a denial only after
    // a question.
    if (!knowsDecisions && chunk.type === "tool-output-denied")
      return settled.has(chunk.toolCallId) ? [] : view(denialToError(chunk.toolCallId, undefined));
    const seen = await view(chunk);
    return chunk.type === "start" ? [...seen, ...chunks] : seen;
  };
}
