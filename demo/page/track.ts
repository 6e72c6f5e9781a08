import type { ApprovalView } from "adk-stream-protocol/protocol";

/** Whether an approval waits for a person, continues by itself, waits for a report, or is over. */
export type At = "asked" | "moving" | "waiting" | "over";

export type Stop = "asked" | "approved" | "running" | "waiting" | "done";

export interface Track {
  /** The stops of the main line. Only a call whose result is reported later stops at `waiting`. */
  stops: readonly Stop[];
  /** The last stop that the approval reached. */
  reached: Stop;
  at: At;
  /** How the approval ended if it did not reach the end of the main line. */
  branch?: "denied" | "expired" | "cancelled" | "failed" | "unknown";
}

/** The stops that an approval has passed. */
export function trackOf(row: Pick<ApprovalView, "state" | "decidedAt" | "reportBy">): Track {
  const hasBegun = row.state === "waiting" || row.reportBy !== undefined;
  const stops: readonly Stop[] = hasBegun
    ? ["asked", "approved", "running", "waiting", "done"]
    : ["asked", "approved", "running", "done"];
  const last = hasBegun ? "waiting" : "running";
  switch (row.state) {
    case "pending":
      return { stops, reached: "asked", at: "asked" };
    case "approved":
      return { stops, reached: "approved", at: "moving" };
    case "executing":
      return { stops, reached: "running", at: "moving" };
    case "waiting":
      return { stops, reached: "waiting", at: "waiting" };
    case "succeeded":
      return { stops, reached: "done", at: "over" };
    case "denied":
      return { stops, reached: "asked", at: "over", branch: "denied" };
    case "expired":
    case "cancelled":
      // Both can also happen after the yes, before the tool starts.
      return { stops, reached: row.decidedAt === undefined ? "asked" : "approved", at: "over", branch: row.state };
    case "failed":
      return { stops, reached: last, at: "over", branch: "failed" };
    case "indeterminate":
      return { stops, reached: last, at: "over", branch: "unknown" };
  }
}
