import { isToolUIPart, type UIMessage, type UIMessageChunk } from "ai";
import type { ApprovalData } from "../../protocol/index.ts";
import { settledCall } from "./settled-call.ts";
import type { FindApproval, View } from "./view.ts";

/**
 * Closes a question that expired or was cancelled in the part that asks it, as a denial. The `data-approval` before it
 * says what really happened. Only for readers that are AI SDK 7: `ai@6` has no chunk for this and throws.
 *
 * `before` is the message when reading began; calls that have an outcome there get no second one.
 */
export function unansweredAsDenied(view: View, findApproval: FindApproval, before?: UIMessage): View {
  let messageId: string | undefined;
  const settled = new Set(before?.parts.flatMap((part) => (isSettledPart(part) ? [part.toolCallId] : [])));
  let due: { approvalId: string; toolCallId: string; reason?: string }[] = [];
  return async (chunk) => {
    if (chunk.type === "start") ({ messageId } = chunk);
    const outcomeOf = settledCall(chunk);
    if (outcomeOf !== undefined) settled.add(outcomeOf);
    // An outcome directly after the `data-approval` is the reply to an answer, and settles the call itself.
    const denials = due.filter(({ toolCallId }) => !settled.has(toolCallId)).flatMap(denial);
    for (const { toolCallId } of due) settled.add(toolCallId);
    due = [];
    if (chunk.type === "data-approval") {
      const { approvalId, toolCallId, state, errorText } = chunk.data as ApprovalData;
      if ((state === "expired" || state === "cancelled") && !settled.has(toolCallId)) {
        const approval = await findApproval(approvalId);
        if (approval?.messageId === messageId && approval?.decidedAt === undefined)
          due.push({ approvalId, toolCallId, ...(errorText !== undefined && { reason: errorText }) });
      }
    }
    return [...denials, ...(await view(chunk))];
  };
}

function denial({ approvalId, toolCallId, reason }: { approvalId: string; toolCallId: string; reason?: string }) {
  return [
    { type: "tool-approval-response", approvalId, approved: false, ...(reason !== undefined && { reason }) },
    { type: "tool-output-denied", toolCallId },
  ] satisfies UIMessageChunk[];
}

function isSettledPart(part: UIMessage["parts"][number]): part is Extract<typeof part, { toolCallId: string }> {
  return isToolUIPart(part) && part.state.startsWith("output-");
}
