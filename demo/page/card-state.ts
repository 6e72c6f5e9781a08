import type { ApprovalData, ApprovalState, ApprovalView } from "adk-stream-protocol/protocol";
import type { CardState } from "adk-stream-protocol/client";
import type { ChatStatus, UIMessage } from "ai";

/** An approval only moves to states with a higher number, so of two reports the higher one is the newer one. */
const progress: Record<ApprovalState, number> = {
  pending: 0,
  approved: 1,
  executing: 2,
  waiting: 3,
  indeterminate: 4,
  succeeded: 5,
  failed: 5,
  denied: 5,
  expired: 5,
  cancelled: 5,
};

const shownAs: Record<Exclude<ApprovalState, "pending">, CardState> = {
  approved: "approved",
  executing: "running",
  waiting: "waiting",
  succeeded: "done",
  failed: "failed",
  denied: "denied",
  expired: "expired",
  cancelled: "cancelled",
  indeterminate: "unknown",
};

/** The newest state the server has reported, in the stream or in the ledger. */
export function serverState(data?: ApprovalData, row?: ApprovalView): ApprovalState | undefined {
  if (!data) return row?.state;
  if (!row) return data.state;
  return progress[row.state] > progress[data.state] ? row.state : data.state;
}

/** Whether this call can no longer be decided or run. */
export function isOver(state: ApprovalState | undefined): boolean {
  return state !== undefined && progress[state] >= progress.indeterminate;
}

/** The newest `data-approval` of each approval; it can be in any message. */
export function approvalDataOf(messages: readonly UIMessage[]): Map<string, ApprovalData> {
  const found = new Map<string, ApprovalData>();
  for (const message of messages) {
    for (const part of message.parts) {
      if (part.type !== "data-approval") continue;
      const data = (part as unknown as { data: ApprovalData }).data;
      const before = found.get(data.approvalId);
      if (!before || progress[data.state] >= progress[before.state]) found.set(data.approvalId, data);
    }
  }
  return found;
}

/** Whether an answer that the server has not confirmed is still being sent. Times are by the browser's clock. */
export function isDelivering(facts: {
  status: ChatStatus;
  answeredAt: number;
  lastBusyAt: number;
  /** When the ledger was last requested. */
  ledgerAt: number;
}): boolean {
  const { status, answeredAt, lastBusyAt, ledgerAt } = facts;
  if (status === "submitted" || status === "streaming") return true;
  if (status === "error" && lastBusyAt >= answeredAt) return false;
  return ledgerAt <= Math.max(lastBusyAt, answeredAt);
}

export interface CardFacts {
  /** The state of AI SDK's tool part, which this page may have changed itself. */
  partState: string;
  data?: ApprovalData | undefined;
  row?: ApprovalView | undefined;
  /** The tool runs in this page, so an output in the part does not prove that the server has it. */
  clientSide: boolean;
  delivering: boolean;
  runningHere: boolean;
}

/**
 * The state that a card shows. The page itself decides between `asked`, `sending` and `unsent`. It shows every other state
 * only if the server has reported it.
 */
export function cardState(facts: CardFacts): CardState {
  const reported = serverState(facts.data, facts.row);
  if (isOver(reported)) return shownAs[reported as Exclude<ApprovalState, "pending">];
  if (!facts.clientSide) {
    // The part already has an output: what the tool said when it had begun.
    if (reported === "waiting") return "waiting";
    if (facts.partState === "output-available") return "done";
    if (facts.partState === "output-error") return "failed";
  }
  if (facts.partState === "output-denied") return "denied";
  const mayRunHere = reported === "approved" || (facts.clientSide && reported === "waiting");
  if (mayRunHere && (facts.runningHere || facts.partState.startsWith("output-"))) return "running";
  if (reported !== undefined && reported !== "pending") return shownAs[reported];
  if (facts.partState === "approval-requested") return "asked";
  return facts.delivering ? "sending" : "unsent";
}
