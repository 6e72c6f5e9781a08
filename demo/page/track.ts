import type { ApprovalView } from "adk-stream-protocol/protocol";

/** Whether an approval waits for a person, continues by itself, or is over. */
export type Stop = "waiting" | "moving" | "over";

export interface Track {
  /** The last stop on the main line that the approval reached: 0 asked, 1 approved, 2 running, 3 done. */
  reached: 0 | 1 | 2 | 3;
  at: Stop;
  /** How the approval ended if it did not reach the end of the main line. */
  branch?: "denied" | "expired" | "cancelled" | "failed" | "unknown";
}

/** The stops that an approval has passed. */
export function trackOf(row: Pick<ApprovalView, "state" | "decidedAt">): Track {
  switch (row.state) {
    case "pending":
      return { reached: 0, at: "waiting" };
    case "approved":
      return { reached: 1, at: "moving" };
    case "executing":
    case "waiting":
      return { reached: 2, at: "moving" };
    case "succeeded":
      return { reached: 3, at: "over" };
    case "denied":
      return { reached: 0, at: "over", branch: "denied" };
    case "expired":
    case "cancelled":
      // Both can also happen after the yes, before the tool starts.
      return { reached: row.decidedAt === undefined ? 0 : 1, at: "over", branch: row.state };
    case "failed":
      return { reached: 2, at: "over", branch: "failed" };
    case "indeterminate":
      return { reached: 2, at: "over", branch: "unknown" };
  }
}
