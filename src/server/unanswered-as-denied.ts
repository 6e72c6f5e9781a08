import { isToolUIPart, type UIMessage, type UIMessageChunk } from "ai";
import type { ApprovalData } from "../protocol/index.ts";
import type { Lookup, Translate } from "./dialect.ts";

/**
 * For readers that are AI SDK 7: a question that nobody answered in time, or that was cancelled, is closed in the part
 * that asks. The notice goes first and says what really happened; `ai@6` has no chunk for this and fails at it.
 *
 * `before` is what the message was when reading began: what is settled there stays.
 */
export function unansweredAsDenied(translate: Translate, lookup: Lookup, before?: UIMessage): Translate {
  let messageId: string | undefined;
  const settled = new Set(before?.parts.flatMap((part) => (isSettledPart(part) ? [part.toolCallId] : [])));
  let due: { approvalId: string; toolCallId: string; reason?: string }[] = [];
  return async (chunk) => {
    if (chunk.type === "start") ({ messageId } = chunk);
    const outcomeOf = settledCall(chunk);
    if (outcomeOf !== undefined) settled.add(outcomeOf);
    // An outcome comes right behind its notice: then somebody has answered, and this is the reply.
    const denials = due.filter(({ toolCallId }) => !settled.has(toolCallId)).flatMap(denial);
    for (const { toolCallId } of due) settled.add(toolCallId);
    due = [];
    if (chunk.type === "data-approval") {
      const { approvalId, toolCallId, state, errorText } = chunk.data as ApprovalData;
      if ((state === "expired" || state === "cancelled") && !settled.has(toolCallId)) {
        const approval = await lookup(approvalId);
        if (approval?.messageId === messageId && approval?.decidedAt === undefined)
          due.push({ approvalId, toolCallId, ...(errorText !== undefined && { reason: errorText }) });
      }
    }
    return [...denials, ...(await translate(chunk))];
  };
}

function denial({ approvalId, toolCallId, reason }: { approvalId: string; toolCallId: string; reason?: string }) {
  return [
    { type: "tool-approval-response", approvalId, approved: false, ...(reason !== undefined && { reason }) },
    { type: "tool-output-denied", toolCallId },
  ] satisfies UIMessageChunk[];
}

function settledCall(chunk: UIMessageChunk): string | undefined {
  switch (chunk.type) {
    case "tool-output-available":
    case "tool-output-error":
    case "tool-output-denied":
      return chunk.toolCallId;
    default:
      return undefined;
  }
}

function isSettledPart(part: UIMessage["parts"][number]): part is Extract<typeof part, { toolCallId: string }> {
  return isToolUIPart(part) && part.state.startsWith("output-");
}
