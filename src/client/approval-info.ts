import type { UIMessage } from "ai";
import type { ApprovalData, ApprovalState, ApprovalView } from "../protocol/approval.ts";
import type { SentAnswer } from "./approval-outbox.ts";
import type { ApprovalInfo, CardState } from "./chat-approvals.ts";

type Part = UIMessage["parts"][number];
export type ToolPart = Extract<Part, { toolCallId: string }>;
export type AskedPart = ToolPart & { approval: NonNullable<ToolPart["approval"]> };

/** What a card shows of each state. They are in their order: an approval only moves to one that comes later. */
const shown: Record<ApprovalState, CardState> = {
  pending: "asked",
  approved: "approved",
  executing: "running",
  waiting: "waiting",
  indeterminate: "unknown",
  succeeded: "done",
  failed: "failed",
  denied: "denied",
  expired: "expired",
  cancelled: "cancelled",
};
const order = Object.keys(shown);

/** How far a report is: higher in a later state, and lowest without a report. A newer server may have more states. */
function progressOf(report: ApprovalData | undefined): number {
  return report ? order.indexOf(report.state) : -2;
}

/** True if nothing follows this report by itself. */
export function isSettled(report: ApprovalData | undefined): boolean {
  return progressOf(report) >= order.indexOf("indeterminate");
}

/** The newer of two reports about an approval, if there are any. */
function newest<Other extends ApprovalData | undefined>(
  one: ApprovalData | undefined,
  other: Other,
): ApprovalData | Other {
  return one && progressOf(one) > progressOf(other) ? one : other;
}

export function isToolPart(part: Part): part is ToolPart {
  return "toolCallId" in part;
}

export function toolNameOf(part: ToolPart): string {
  return part.type === "dynamic-tool" ? part.toolName : part.type.slice("tool-".length);
}

export function isAskedPart(part: Part): part is AskedPart {
  return (part as Partial<AskedPart>).approval !== undefined;
}

/** The newest `data-approval` of each approval; it can be in any message. */
export function approvalDataOf(messages: readonly UIMessage[]): Map<string, ApprovalData> {
  const found = new Map<string, ApprovalData>();
  for (const part of messages.flatMap(({ parts }) => parts))
    if (part.type === "data-approval") {
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
export function approvalInfo(
  approvalId: string,
  { part, data, row, answer, chatId, clockOffset }: ApprovalFacts,
): ApprovalInfo {
  const known = row ?? answer?.decided;
  const report = newest(newest(row, data), answer?.decided);
  const here = (time: number | undefined) => time && time - clockOffset;
  return {
    ...(part && {
      toolCallId: part.toolCallId,
      toolName: toolNameOf(part),
      input: part.input,
      output: part.output,
      errorText: part.errorText,
    }),
    ...known,
    ...report,
    approvalId,
    state: cardState(report, part, answer),
    createdAt: here(known?.createdAt),
    expiresAt: here(report?.expiresAt),
    reportBy: here(report?.reportBy),
    answer: answer && { approved: answer.approved, reason: answer.reason },
    decidedElsewhere: answer?.decidedElsewhere || undefined,
    problem: answer?.problem,
    chatId: known?.chat ?? chatId,
    // The part or the row has the rest.
  } as ApprovalInfo;
}

function cardState(
  report: ApprovalData | undefined,
  part: AskedPart | undefined,
  answer: SentAnswer | undefined,
): CardState {
  if (report && report.state !== "pending") return shown[report.state] ?? "unknown";
  if (part?.state === "output-available") return "done";
  if (part?.state === "output-error") return "failed";
  if (part?.state === "output-denied") return "denied";
  if (answer) return answer.problem === undefined ? "sending" : "unsent";
  return part?.state === "approval-responded" ? "sending" : "asked";
}
