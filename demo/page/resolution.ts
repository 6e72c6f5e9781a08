import type { ApprovalState } from "adk-stream-protocol/protocol";

/** What a person found out about a call whose outcome is not known. */
export interface Resolution {
  happened: boolean;
  /** What came of it, as text or as the JSON that a person pasted. */
  outcome?: unknown;
  reason?: string;
}

/** How the server took a resolution. With a `state`, another change came first. */
export type Resolved = "resolved" | "missing" | "unreachable" | { state: ApprovalState };

/** A choice and the text that was typed with it. */
export function toResolution(happened: boolean, text: string): Resolution {
  if (text === "") return { happened };
  return happened ? { happened, outcome: readOutcome(text) } : { happened, reason: text };
}

/** An object or a list as JSON; anything else is text. */
function readOutcome(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : text;
  } catch {
    return text;
  }
}
