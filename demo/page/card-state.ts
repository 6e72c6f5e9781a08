import type { ApprovalData, ApprovalState, ApprovalView } from "adk-stream-protocol/protocol";
import type { ChatStatus, UIMessage } from "ai";

/**
 * What a card may say. Everything after `undelivered` is said only when the server said so; `waiting`, `sending` and
 * `undelivered` are what this page knows by itself.
 */
export type CardState =
  | "waiting"
  | "sending"
  | "undelivered"
  | "approved"
  | "running"
  | "done"
  | "failed"
  | "denied"
  | "expired"
  | "cancelled"
  | "unknown";

/** States only move forward, so of two reports the further one is the newer one. */
const distance: Record<ApprovalState, number> = {
  pending: 0,
  approved: 1,
  executing: 2,
  indeterminate: 3,
  succeeded: 4,
  failed: 4,
  denied: 4,
  expired: 4,
  cancelled: 4,
};

const shownAs: Record<Exclude<ApprovalState, "pending">, CardState> = {
  approved: "approved",
  executing: "running",
  succeeded: "done",
  failed: "failed",
  denied: "denied",
  expired: "expired",
  cancelled: "cancelled",
  indeterminate: "unknown",
};

/** The furthest state the server has reported, by the stream or by the ledger. */
export function serverState(data?: ApprovalData, row?: ApprovalView): ApprovalState | undefined {
  if (!data) return row?.state;
  if (!row) return data.state;
  return distance[row.state] > distance[data.state] ? row.state : data.state;
}

/** Nobody will run or decide this call any more. */
export function isOver(state: ApprovalState | undefined): boolean {
  return state !== undefined && distance[state] >= distance.indeterminate;
}

/** The newest `data-approval` of each approval, wherever in the messages it stands. */
export function approvalDataOf(messages: readonly UIMessage[]): Map<string, ApprovalData> {
  const found = new Map<string, ApprovalData>();
  for (const message of messages) {
    for (const part of message.parts) {
      if (part.type !== "data-approval") continue;
      const data = (part as unknown as { data: ApprovalData }).data;
      const before = found.get(data.approvalId);
      if (!before || distance[data.state] >= distance[before.state]) found.set(data.approvalId, data);
    }
  }
  return found;
}

/** Whether an answer that the server has not acknowledged is still on its way. Times are by our clock. */
export function isDelivering(facts: {
  status: ChatStatus;
  answeredAt: number;
  lastBusyAt: number;
  /** When the ledger was last asked. */
  ledgerAt: number;
}): boolean {
  const { status, answeredAt, lastBusyAt, ledgerAt } = facts;
  if (status === "submitted" || status === "streaming") return true;
  if (status === "error" && lastBusyAt >= answeredAt) return false;
  return ledgerAt <= Math.max(lastBusyAt, answeredAt);
}

export interface CardFacts {
  /** State of the stock tool part: what this client believes. */
  partState: string;
  data?: ApprovalData | undefined;
  row?: ApprovalView | undefined;
  /** The tool runs in this page, so the part's output is ours and proves nothing. */
  clientSide: boolean;
  delivering: boolean;
  runningHere: boolean;
}

/** The one thing a card says. */
export function cardState(facts: CardFacts): CardState {
  const said = serverState(facts.data, facts.row);
  if (isOver(said)) return shownAs[said as Exclude<ApprovalState, "pending">];
  if (!facts.clientSide) {
    if (facts.partState === "output-available") return "done";
    if (facts.partState === "output-error") return "failed";
  }
  if (facts.partState === "output-denied") return "denied";
  if (said === "approved" && (facts.runningHere || facts.partState.startsWith("output-"))) return "running";
  if (said !== undefined && said !== "pending") return shownAs[said];
  if (facts.partState === "approval-requested") return "waiting";
  return facts.delivering ? "sending" : "undelivered";
}
