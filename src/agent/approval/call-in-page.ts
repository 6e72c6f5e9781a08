import type { UIMessageChunk } from "ai";
import type { Approval } from "../../stores/index.ts";
import { runsElsewhere } from "./executor.ts";

/**
 * The call of a browser tool that a person has approved, once more, for the step that replies to the yes. The page runs
 * the tool now, and AI SDK sends its result by itself only if the last step has the call. Without the step AI SDK would
 * send the yes again and again; in the step of the question the call would have a state that `validateUIMessages` refuses.
 */
export function callInPage(approval: Approval): UIMessageChunk[] {
  const { gated, state, toolCallId, toolName, toolHash, input } = approval;
  // Rows of 0.1 have no hash, and do not say whether the page or the server runs the tool.
  if (!gated || state !== "waiting" || !runsElsewhere(approval) || toolHash === undefined) return [];
  return [{ type: "tool-input-available", toolCallId, toolName, input: JSON.parse(input) as unknown }];
}
