import type { ApprovalView } from "adk-stream-protocol/protocol";
import { isToolUIPart, type UIMessage } from "ai";

type Part = UIMessage["parts"][number];

export interface LocalFacts {
  /** Ledger rows by approval id. */
  rows: ReadonlyMap<string, ApprovalView>;
  /** The ids of the calls that ran in this page. */
  ranHere: ReadonlySet<string>;
  /** The last request failed, so the server may not have the last message. */
  failed: boolean;
}

/**
 * The server's messages, together with what only this page has: an answer or a browser tool's output that has not
 * reached the server, and a message whose request failed. The server's version of everything else is used.
 */
export function mergeMessages(server: UIMessage[], local: readonly UIMessage[], facts: LocalFacts): UIMessage[] {
  const localParts = new Map<string, Part>();
  for (const part of local.flatMap((message) => message.parts)) {
    if (isToolUIPart(part)) localParts.set(part.toolCallId, part);
  }
  const merged = server.map((message) => {
    const parts = message.parts.map((part) => {
      const mine = isToolUIPart(part) ? localParts.get(part.toolCallId) : undefined;
      return mine && isAhead(mine, part, facts) ? mine : part;
    });
    return parts.some((part, index) => part !== message.parts[index]) ? { ...message, parts } : message;
  });
  const last = local.at(-1);
  return facts.failed && last?.role === "user" && !isKnown(last, server) ? [...merged, last] : merged;
}

/** Whether `merged` has something that the server does not have. */
export function hasUnsent(merged: readonly UIMessage[], server: readonly UIMessage[]): boolean {
  return JSON.stringify(merged) !== JSON.stringify(server);
}

function isAhead(mine: Part, theirs: Part, { rows, ranHere }: LocalFacts): boolean {
  if (!isToolUIPart(mine) || !isToolUIPart(theirs)) return false;
  if (theirs.state === "approval-requested" && mine.state === "approval-responded") {
    const row = rows.get(theirs.approval.id);
    return row === undefined || row.state === "pending";
  }
  const open = theirs.state === "input-available" || theirs.state === "approval-responded";
  return open && mine.state.startsWith("output-") && ranHere.has(mine.toolCallId);
}

/** Whether the server has a message: one with its id, or the same text as the last user message with another id. */
function isKnown(message: UIMessage, server: readonly UIMessage[]): boolean {
  if (server.some((other) => other.id === message.id)) return true;
  const lastUser = server.findLast((other) => other.role === "user");
  // Files cannot be compared: the server gives them other addresses.
  const hasFiles = message.parts.some(({ type }) => type === "file");
  return lastUser !== undefined && !hasFiles && textOf(lastUser) === textOf(message);
}

function textOf(message: UIMessage): string {
  return message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}
