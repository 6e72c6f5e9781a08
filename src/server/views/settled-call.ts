import type { UIMessageChunk } from "ai";

/** The id of the call that a chunk gives its outcome. A preliminary output is not an outcome. */
export function settledCall(chunk: UIMessageChunk): string | undefined {
  switch (chunk.type) {
    case "tool-output-available":
      return chunk.preliminary === true ? undefined : chunk.toolCallId;
    case "tool-output-error":
    case "tool-output-denied":
      return chunk.toolCallId;
    default:
      return undefined;
  }
}
