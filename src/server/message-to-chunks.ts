import { getToolName, isDataUIPart, isToolUIPart, type UIMessage, type UIMessageChunk } from "ai";

type Part = UIMessage["parts"][number];

/**
 * A message as the chunks that make it again from nothing, without `start` and `finish`. AI SDK reads a resumed stream
 * into an empty message, so one that goes on with an older message has to bring that along.
 *
 * No chunk that `ai@6` knows carries a decision, and it accepts neither an output nor a denial for a call that still
 * asks. So an answered call comes without its question, and a denied one as a failure that says why.
 */
export function messageToChunks({ parts }: UIMessage): UIMessageChunk[] {
  const chunks: UIMessageChunk[] = [];
  let inStep = false;
  for (const [index, part] of parts.entries()) {
    if (part.type === "step-start" && inStep) chunks.push({ type: "finish-step" });
    inStep ||= part.type === "step-start";
    chunks.push(...partToChunks(part, `replay-${index}`));
  }
  if (inStep) chunks.push({ type: "finish-step" });
  return chunks;
}

function partToChunks(part: Part, id: string): UIMessageChunk[] {
  if (isToolUIPart(part)) return toolToChunks(part);
  if (isDataUIPart(part)) return [part];
  switch (part.type) {
    case "step-start":
      return [{ type: "start-step" }];
    case "text":
    case "reasoning": {
      const { type, text } = part;
      return [
        { type: `${type}-start`, id },
        { type: `${type}-delta`, id, delta: text },
        { type: `${type}-end`, id },
      ];
    }
    case "file":
    case "source-url":
    case "source-document":
      return [part];
    default:
      // Kinds of parts that only newer AI SDKs know; the log has none.
      return [];
  }
}

function toolToChunks(part: Extract<Part, { toolCallId: string }>): UIMessageChunk[] {
  const { toolCallId, input } = part;
  const named = { toolCallId, toolName: getToolName(part), ...(part.type === "dynamic-tool" && { dynamic: true }) };
  const called: UIMessageChunk[] = [
    { type: "tool-input-start", ...named },
    { type: "tool-input-available", ...named, input },
  ];
  switch (part.state) {
    case "approval-requested":
      return [...called, { type: "tool-approval-request", approvalId: part.approval.id, toolCallId }];
    case "output-available":
      return [...called, { type: "tool-output-available", toolCallId, output: part.output }];
    case "output-error":
      return [...called, { type: "tool-output-error", toolCallId, errorText: part.errorText }];
    case "output-denied":
      return [...called, denialToError(toolCallId, part.approval.reason)];
    case "input-streaming":
    case "input-available":
    case "approval-responded":
      return called;
  }
}

/** A denial for a reader who does not know that somebody said no. */
export function denialToError(toolCallId: string, reason: string | undefined): UIMessageChunk {
  const errorText = reason === undefined ? "The call was not run." : `The call was not run: ${reason}`;
  return { type: "tool-output-error", toolCallId, errorText };
}
