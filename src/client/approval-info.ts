import type { UIMessage } from "ai";
import type { ApprovalData, ApprovalState, ApprovalView } from "../protocol/approval.ts";
import type { SentAnswer } from "./approval-outbox.ts";
import type { ApprovalInfo, CardState } from "./chat-approvals.ts";
import { withoutUndefined } from "./without-undefined.ts";

type Part = UIMessage["parts"][number];
export type ToolPart = Extract<Part, { toolCallId: string }>;
export type AskedPart = ToolPart & { approval: NonNullable<ToolPart["approval"]> };

/** The states in their order, and what a card shows. An approval only moves to a higher number. */
const states: Record<ApprovalState, readonly [order: number, shown: CardState]> = {
  pending: [0, "asked"],
  approved: [1, "approved"],
  executing: [2, "running"],
  waiting: [3, "waiting"],
  indeterminate: [4, "unknown"],
  succeeded: [5, "done"],
  failed: [5, "failed"],
  denied: [5, "denied"],
  expired: [5, "expired"],
  cancelled: [5, "cancelled"],
};

const orderOf = ({ state }: { state: ApprovalState }): number => states[state]?.[0] ?? 0;

/** True if more is known to follow this state. */
export const isOpen = (state: ApprovalState): boolean => (states[state]?.[0] ?? 5) < 4;

/** The newer of two reports about an approval. */
function newest<T extends { state: ApprovalState }>(one: T | undefined, other: T | undefined): T | undefined {
  return one && other ? (orderOf(other) >= orderOf(one) ? other : one) : (one ?? other);
}

export function isToolPart(part: Part): part is ToolPart {
  return "toolCallId" in part;
}

export function toolNameOf(part: ToolPart): string {
  return part.type === "dynamic-tool" ? part.toolName : part.type.slice("tool-".length);
}

export function isAskedPart(part: Part): part is AskedPart {
  return isToolPart(part) && part.approval !== undefined;
}

/** The newest `data-approval` of each approval; it can be in any message. */
export function approvalDataOf(messages: readonly UIMessage[]): Map<string, ApprovalData> {
  const found = new Map<string, ApprovalData>();
  for (const { parts } of messages)
    for (const part of parts) {
      if (part.type !== "data-approval") continue;
      const data = part.data as ApprovalData;
      found.set(data.approvalId, newest(found.get(data.approvalId), data) ?? data);
    }
  return found;
}

export interface ApprovalFacts {
  /** The part that asks, if the page has it. */
  part?: AskedPart | undefined;
  /** What the stream has reported. */
  data?: ApprovalData | undefined;
  /** The row as the ledger has it. */
  row?: ApprovalView | undefined;
  answer?: SentAnswer | undefined;
  chatId?: string | undefined;
  clockOffset: number;
}

/** All that a card shows. A state other than `asked`, `sending` and `unsent` is one that the server has reported. */
export function approvalInfo(approvalId: string, facts: ApprovalFacts): ApprovalInfo | undefined {
  const { part, data, row, answer, clockOffset } = facts;
  const seen = newest<ApprovalData>(row, data);
  const report = newest<ApprovalData>(seen, answer?.decided) ?? seen;
  const known = row ?? answer?.decided;
  if (!report && !part) return undefined;
  const here = (time: number | undefined) => (time === undefined ? undefined : time - clockOffset);
  return withoutUndefined({
    approvalId,
    toolCallId: report?.toolCallId ?? part?.toolCallId ?? "",
    toolName: report?.toolName ?? (part ? toolNameOf(part) : ""),
    state: cardState(report, facts),
    input: known ? known.input : part?.input,
    rawInput: known?.rawInput,
    card: report?.card ?? known?.card,
    hint: known?.hint,
    createdAt: here(known?.createdAt),
    expiresAt: here(report?.expiresAt),
    reportBy: here(report?.reportBy),
    interim: report?.interim,
    output: report?.output ?? (part?.state === "output-available" ? part.output : undefined),
    errorText: report?.errorText ?? (part?.state === "output-error" ? part.errorText : undefined),
    answer: answer && withoutUndefined({ approved: answer.approved, reason: answer.reason }),
    decidedElsewhere: answer?.isElsewhere || undefined,
    decidedBy: report?.decidedBy,
    requestedBy: known?.requestedBy,
    resolvedBy: report?.resolvedBy,
    digest: known?.digest,
    reason: report?.reason,
    problem: answer?.problem,
    chatId: known?.chat ?? facts.chatId,
  });
}

function cardState(report: ApprovalData | undefined, { part, answer }: ApprovalFacts): CardState {
  if (report && report.state !== "pending") return states[report.state]?.[1] ?? "unknown";
  if (part?.state === "output-available") return "done";
  if (part?.state === "output-error") return "failed";
  if (part?.state === "output-denied") return "denied";
  if (answer) return answer.problem === undefined ? "sending" : "unsent";
  return part?.state === "approval-responded" ? "sending" : "asked";
}
