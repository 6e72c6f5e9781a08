import type { ApprovalState } from "adk-stream-protocol/protocol";

/** How the server took a resolution. With a `state`, another change came first. */
export type Resolved = "resolved" | "missing" | "unreachable" | { state: ApprovalState };
