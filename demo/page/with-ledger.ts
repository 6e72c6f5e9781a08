import type { CardState, ChatApprovals } from "adk-stream-protocol/client";
import type { ApprovalState, ApprovalView } from "adk-stream-protocol/protocol";

/** What a card shows of each state. An approval only moves to a state that comes later. */
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
const order = Object.values(shown);
const open: ReadonlySet<CardState> = new Set(["asked", "approved", "running", "waiting"]);

/**
 * The approvals of a chat, with what the ledger of the panel has and the chat does not have yet: it reads the outcome of a
 * call in an older message when the reply that is coming has ended.
 */
export function withLedger(approvals: ChatApprovals, rows: readonly ApprovalView[]): ChatApprovals {
  const rowOf = new Map(rows.map((row) => [row.approvalId, row]));
  return {
    ...approvals,
    get(approvalId) {
      const info = approvals.get(approvalId);
      const row = rowOf.get(approvalId);
      if (!info || !row || !open.has(info.state)) return info;
      const state = shown[row.state];
      if (order.indexOf(state) <= order.indexOf(info.state)) return info;
      return { ...info, ...reportOf(row), state };
    },
  };
}

function reportOf({ output, errorText, decidedBy, resolvedBy, reason }: ApprovalView) {
  const known = Object.entries({ output, errorText, decidedBy, resolvedBy, reason });
  return Object.fromEntries(known.filter(([, value]) => value !== undefined));
}
