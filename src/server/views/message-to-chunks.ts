import { getToolName, isDataUIPart, isToolUIPart, type UIMessage, type UIMessageChunk } from "ai";

type Part = UIMessage["parts"][number];

export interface ReplayOptions {
  /** True for readers that are AI SDK 7, which has a chunk for a decision. */
  knowsDecisions: boolean;
}

/**
 * The chunks that rebuild a message from nothing, without `start` and `finish`. AI SDK reads a resumed stream into an
 * empty message, so a stream that continues an older message must contain its earlier parts.
 *
 * `ai@6` has no chunk for a decision, and accepts neither an output nor a denial for a call whose question is open. So for
 * such a reader an answered call comes without its question, and a denied call as an error that says why. The call's
 * `data-approval` comes before it once more, as a transient chunk, so that a page can give the call its decision back.
 */
export function messageToChunks({ parts }: UIMessage, options: ReplayOptions): UIMessageChunk[] {
  const chunks: UIMessageChunk[] = [];
  let inStep = false;
  for (const [index, part] of parts.entries()) {
    if (part.type === "step-start" && inStep) chunks.push({ type: "finish-step" });
    inStep ||= part.type === "step-start";
    if (!options.knowsDecisions && isToolUIPart(part) && part.approval?.approved !== undefined) {
      const report = parts.find((each) => isDataUIPart(each) && each.id === part.approval?.id);
      if (report && isDataUIPart(report)) chunks.push({ ...report, transient: true });
    }
    chunks.push(...partToChunks(part, `replay-${index}`, options));
  }
  if (inStep) chunks.push({ type: "finish-step" });
  return chunks;
}

function partToChunks(part: Part, id: string, options: ReplayOptions): UIMessageChunk[] {
  if (isToolUIPart(part)) return toolToChunks(part, options);
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
      // Parts that only newer AI SDKs know. The log has none of them.
      return [];
  }
}

function toolToChunks(
  part: Extract<Part, { toolCallId: string }>,
  { knowsDecisions }: ReplayOptions,
): UIMessageChunk[] {
  const { toolCallId, input } = part;
  const named = { toolCallId, toolName: getToolName(part), ...(part.type === "dynamic-tool" && { dynamic: true }) };
  const called: UIMessageChunk[] = [
    { type: "tool-input-start", ...named },
    { type: "tool-input-available", ...named, input },
    ...(knowsDecisions ? decisionToChunks(part) : []),
  ];
  switch (part.state) {
    case "approval-requested":
      return [...called, askAgain(toolCallId, part.approval)];
    case "output-available":
      return [
        ...called,
        {
          type: "tool-output-available",
          toolCallId,
          output: part.output,
          ...(part.preliminary === true && { preliminary: true }),
        },
      ];
    case "output-error":
      return [...called, { type: "tool-output-error", toolCallId, errorText: part.errorText }];
    case "output-denied":
      return [
        ...called,
        knowsDecisions ? { type: "tool-output-denied", toolCallId } : denialToError(toolCallId, part.approval.reason),
      ];
    case "input-streaming":
    case "input-available":
    case "approval-responded":
      return called;
  }
}

/** The question of a call and the decision about it. */
function decisionToChunks({ toolCallId, approval }: Extract<Part, { toolCallId: string }>): UIMessageChunk[] {
  if (approval?.approved === undefined) return [];
  const { id: approvalId, approved, reason } = approval;
  return [
    askAgain(toolCallId, approval),
    { type: "tool-approval-response", approvalId, approved, ...(reason !== undefined && { reason }) },
  ];
}

/** The fields of AI SDK 7; the part of `ai@6` has no `requestReason`. */
function askAgain(toolCallId: string, approval: { id: string; descriptor?: unknown; requestReason?: string }) {
  const { id: approvalId, descriptor, requestReason } = approval;
  return {
    type: "tool-approval-request" as const,
    approvalId,
    toolCallId,
    ...(descriptor !== undefined && { approvalDescriptor: descriptor }),
    ...(requestReason !== undefined && { reason: requestReason }),
  };
}

/** Said of a call that was denied, if no reason is known. */
export const notRun = "The call was not run.";

/** A denial for a reader that has not seen the question. */
export function denialToError(toolCallId: string, reason: string | undefined): UIMessageChunk {
  const errorText = reason === undefined ? notRun : `The call was not run: ${reason}`;
  return { type: "tool-output-error", toolCallId, errorText };
}
