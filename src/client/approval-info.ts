import type { UIMessage } from "ai";
import type { ApprovalData, ApprovalState, ApprovalView } from "../protocol/approval.ts";
import type { SentAnswer } from "./approval-outbox.ts";
import type { ApprovalInfo, CardState } from "./chat-approvals.ts";

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

const orderOf = (report: { state: ApprovalState } | undefined): number =>
  report ? (states[report.state]?.[0] ?? 0) : -1;

/** True if more is known to follow this state. */
export const isOpen = (state: ApprovalState): boolean => (states[state]?.[0] ?? 5) < 4;

/** The newer of two reports about an approval, if there are any. */
function newest<Other extends ApprovalData | undefined>(
  one: ApprovalData | undefined,
  other: Other,
): ApprovalData | Other {
  return one && orderOf(one) > orderOf(other) ? one : other;
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
      found.set(data.approvalId, newest(found.get(data.approvalId), data));
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
  const report = newest(newest(row, data), answer?.decided);
  const known = row ?? answer?.decided;
  if (!report && !part) return undefined;
  const here = (time: number | undefined) => (time === undefined ? undefined : time - clockOffset);
  return {
    ...known,
    ...report,
    approvalId,
    toolCallId: report?.toolCallId ?? part?.toolCallId ?? "",
    toolName: report?.toolName ?? (part ? toolNameOf(part) : ""),
    state: cardState(report, facts),
    input: known ? known.input : part?.input,
    createdAt: here(known?.createdAt),
    expiresAt: here(report?.expiresAt),
    reportBy: here(report?.reportBy),
    output: report?.output ?? (part?.state === "output-available" ? part.output : undefined),
    errorText: report?.errorText ?? (part?.state === "output-error" ? part.errorText : undefined),
    answer: answer && { approved: answer.approved, reason: answer.reason },
    decidedElsewhere: answer?.isElsewhere || undefined,
    problem: answer?.problem,
    chatId: known?.chat ?? facts.chatId,
  };
}

/** What a part says that has an outcome, if nothing else is known. */
const outcomes: { [State in ToolPart["state"]]?: CardState } = {
  "output-available": "done",
  "output-error": "failed",
  "output-denied": "denied",
};

function cardState(report: ApprovalData | undefined, { part, answer }: ApprovalFacts): CardState {
  if (report && report.state !== "pending") return states[report.state]?.[1] ?? "unknown";
  const outcome = part && outcomes[part.state];
  if (outcome) return outcome;
  if (answer) return answer.problem === undefined ? "sending" : "unsent";
  return part?.state === "approval-responded" ? "sending" : "asked";
}
