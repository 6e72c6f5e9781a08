import type { UIMessage } from "ai";
import { isToolPart, toolNameOf } from "../client/approval-info.ts";
import type { ChatApprovals } from "../client/index.ts";

export interface ClientCall {
  toolCallId: string;
  toolName: string;
  input: unknown;
}

/** The browser calls that should run now. The server checks the same again when it gets the result. */
export function callsToRun(
  messages: readonly UIMessage[],
  facts: {
    approvals: Pick<ChatApprovals, "get">;
    isMine: (toolName: string) => boolean;
    saidYesHere: (approvalId: string) => boolean;
    /** Whether the step of a call is still arriving: its question comes after it. */
    isArriving: (toolCallId: string) => boolean;
  },
): ClientCall[] {
  const gated = new Set<string>();
  const calls = new Map<string, ClientCall>();
  for (const part of messages.flatMap(({ parts }) => parts)) {
    if (!isToolPart(part) || !facts.isMine(toolNameOf(part))) continue;
    const { toolCallId, input, approval, state } = part;
    const call = { toolCallId, toolName: toolNameOf(part), input };
    if (approval) {
      // After the yes the call comes once more, without the approval. Only this part says whether it may run.
      gated.add(toolCallId);
      const isWaiting = facts.approvals.get(approval.id)?.state === "waiting";
      if (state === "approval-responded" && approval.approved && isWaiting && facts.saidYesHere(approval.id))
        calls.set(toolCallId, call);
    } else if (state === "input-available" && part.providerExecuted !== true && !gated.has(toolCallId))
      if (!facts.isArriving(toolCallId)) calls.set(toolCallId, call);
  }
  return [...calls.values()];
}
