import { isToolUIPart, type UIMessage, type UIMessageChunk } from "ai";
import { type ApprovalData, type ApprovalView, BridgeError, textIn } from "../../protocol/index.ts";
import { notRun } from "./message-to-chunks.ts";
import type { FindApproval, View } from "./view.ts";

/**
 * How a connection sees approvals. `approval` is the form of the log: the question belongs to the part of its call.
 * `tool` shows the confirmation as a tool call of its own, `adk_request_confirmation`, whose id is the approval's. The
 * second form is made here and nowhere else; it is never stored.
 */
export type Confirmation = "approval" | "tool";

const toolName = "adk_request_confirmation";

/** The dialect that a connection asks for with `?confirmation=`, or else the server's. */
export function dialectOf(
  { searchParams }: URL,
  { confirmation = "approval" }: { confirmation?: Confirmation },
): Confirmation {
  const asked = searchParams.get("confirmation") ?? confirmation;
  if (asked !== "approval" && asked !== "tool")
    throw new BridgeError("invalid", `confirmation must be "approval" or "tool"; ${JSON.stringify(asked)} is neither.`);
  return asked;
}

/**
 * The chunks of one turn in the dialect. `asked` has the confirmations that the reader has as parts of its message, and
 * gets those that it is shown. They are given their outcomes, so it is only for a reader whose answers go beside its stream.
 */
export function chunksInDialect(confirmation: Confirmation, findApproval: FindApproval, asked?: Set<string>): View {
  if (confirmation === "approval") return async (chunk) => [chunk];
  let messageId: string | undefined;
  const requested: string[] = [];
  const settled = new Set<string>();
  /** Why calls have no output, by call id, taken from the `data-approval` chunks. */
  const reasons = new Map<string, string>();
  const settle = (toolCallId: string, errorText: string): UIMessageChunk[] => {
    if (settled.has(toolCallId)) return [];
    settled.add(toolCallId);
    return [{ type: "tool-output-error", toolCallId, errorText }];
  };
  return async (chunk) => {
    switch (chunk.type) {
      case "start":
        messageId = chunk.messageId;
        return [chunk];
      case "tool-approval-request":
        requested.push(chunk.approvalId);
        return [];
      case "finish-step": {
        // AI SDK's predicate for automatic sending looks at the last step only, so the confirmations get their own step.
        const requests = (await Promise.all(requested.splice(0).map(findApproval))).flatMap((found) => found ?? []);
        const parts = requests.flatMap(confirmationRequest);
        for (const { id } of requests) asked?.add(id);
        return parts.length > 0 ? [chunk, { type: "start-step" }, ...parts, { type: "finish-step" }] : [chunk];
      }
      case "tool-output-denied":
        return settle(chunk.toolCallId, reasons.get(chunk.toolCallId) ?? notRun);
      case "tool-output-error":
        return settle(chunk.toolCallId, chunk.errorText);
      case "data-approval": {
        const { approvalId, state, toolCallId, errorText } = chunk.data as ApprovalData;
        if (errorText !== undefined) reasons.set(toolCallId, errorText);
        const isAnswered = state !== "pending" && asked?.delete(approvalId) === true;
        const seen = isAnswered ? [chunk, confirmationOutcome(chunk.data as ApprovalData)] : [chunk];
        if (state !== "expired" && state !== "cancelled") return seen;
        // AI SDK throws at an outcome for a call that is not in the message it reads.
        if ((await findApproval(approvalId))?.messageId !== messageId) return seen;
        return [...seen, ...settle(toolCallId, errorText ?? notRun)];
      }
      default:
        return [chunk];
    }
  };
}

function confirmationRequest(approval: ApprovalView): UIMessageChunk[] {
  const named = { toolCallId: approval.id, toolName };
  return [
    { type: "tool-input-start", ...named },
    { type: "tool-input-available", ...named, input: confirmationInput(approval) },
  ];
}

/** What became of a question. */
function confirmationOutcome({ approvalId: toolCallId, state, decidedBy, errorText = notRun }: ApprovalData) {
  const isDecided = decidedBy !== undefined;
  return isDecided
    ? { type: "tool-output-available" as const, toolCallId, output: { confirmed: state !== "denied" } }
    : { type: "tool-output-error" as const, toolCallId, errorText };
}

/** The confirmations among the parts of a message, which is in the second dialect. */
export function confirmationsIn({ parts }: UIMessage): string[] {
  return parts.flatMap((part) => (isToolUIPart(part) && part.type === `tool-${toolName}` ? [part.toolCallId] : []));
}

function confirmationInput({ toolCallId, toolName: name, input, hint, card }: ApprovalView) {
  const said = card?.hint === undefined ? hint : textIn(card.hint);
  return {
    originalFunctionCall: { id: toolCallId, name, args: input },
    toolConfirmation: { hint: said ?? `Please approve or reject the call of ${name}.`, confirmed: false },
  };
}

/** Whole messages in the dialect. */
export function messagesInDialect(
  messages: UIMessage[],
  confirmation: Confirmation,
  approvals: readonly ApprovalView[],
): UIMessage[] {
  if (confirmation === "approval") return messages;
  const views = new Map(approvals.map((approval) => [approval.toolCallId, approval]));
  return messages.map((message) => ({ ...message, parts: withConfirmations(message.parts, views) }));
}

type Part = UIMessage["parts"][number];

function withConfirmations(parts: readonly Part[], views: ReadonlyMap<string, ApprovalView>): Part[] {
  const result: Part[] = [];
  let asked: Part[] = [];
  const flush = () => {
    if (asked.length > 0) result.push({ type: "step-start" }, ...asked);
    asked = [];
  };
  for (const part of parts) {
    if (part.type === "step-start") flush();
    const view = isToolUIPart(part) && part.approval ? views.get(part.toolCallId) : undefined;
    result.push(view ? plainPart(part, view) : part);
    if (view) asked.push(confirmationPart(view));
  }
  flush();
  return result;
}

/** The call's own part without its approval, which has become a part of its own. */
function plainPart(part: Part, { errorText = notRun }: ApprovalView): Part {
  if (!isToolUIPart(part)) return part;
  const { approval: _approval, ...plain } = part;
  if (part.state === "approval-requested" || part.state === "approval-responded")
    return { ...plain, state: "input-available" } as Part;
  if (part.state === "output-denied") return { ...plain, state: "output-error", errorText } as Part;
  return plain as Part;
}

function confirmationPart(approval: ApprovalView): Part {
  const part = { type: `tool-${toolName}` as const, toolCallId: approval.id, input: confirmationInput(approval) };
  if (approval.decidedAt === undefined && (approval.state === "expired" || approval.state === "cancelled"))
    return { ...part, state: "output-error", errorText: approval.errorText ?? notRun };
  if (approval.decidedAt === undefined) return { ...part, state: "input-available" };
  return { ...part, state: "output-available", output: { confirmed: approval.state !== "denied" } };
}
