import type { UIMessageChunk } from "ai";

/** The ids of the tool calls whose outcome is among these chunks. */
export function settledCalls(chunks: readonly UIMessageChunk[]): string[] {
  return chunks.flatMap((chunk) => {
    const { type } = chunk;
    const settles = type === "tool-output-available" || type === "tool-output-error" || type === "tool-output-denied";
    return settles ? [chunk.toolCallId] : [];
  });
}
