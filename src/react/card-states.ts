import type { ApprovalInfo } from "../client/chat-approvals.ts";

/** Whether the server has no decision yet. Then the card shows what is important for the decision. */
export function isUndecided({ state }: ApprovalInfo): boolean {
  return state === "asked" || state === "sending" || state === "unsent";
}

/** True for a call that was approved and has begun. */
export function hasBegun({ state }: ApprovalInfo): boolean {
  return ["running", "waiting", "done", "failed", "unknown"].includes(state);
}
