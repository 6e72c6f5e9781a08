import type { ApprovalView } from "adk-stream-protocol/protocol";

/** A way that is waiting for somebody, moving by itself, or at its end. */
export type Stop = "waiting" | "moving" | "over";

export interface Track {
  /** The last stop of the main line that was reached: 0 asked, 1 approved, 2 running, 3 done. */
  reached: 0 | 1 | 2 | 3;
  at: Stop;
  /** Where the way left the main line. */
  branch?: "denied" | "expired" | "cancelled" | "failed" | "unknown";
}

/** Which way a row has come, from what the row says of itself. */
export function trackOf(row: Pick<ApprovalView, "state" | "decidedAt">): Track {
  switch (row.state) {
    case "pending":
      return { reached: 0, at: "waiting" };
    case "approved":
      return { reached: 1, at: "moving" };
    case "executing":
      return { reached: 2, at: "moving" };
    case "succeeded":
      return { reached: 3, at: "over" };
    case "denied":
      return { reached: 0, at: "over", branch: "denied" };
    case "expired":
    case "cancelled":
      // Both can still happen between the yes and the start.
      return { reached: row.decidedAt === undefined ? 0 : 1, at: "over", branch: row.state };
    case "failed":
      return { reached: 2, at: "over", branch: "failed" };
    case "indeterminate":
      return { reached: 2, at: "over", branch: "unknown" };
  }
}
