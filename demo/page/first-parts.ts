import { isToolUIPart, type UIMessage } from "ai";

type Part = UIMessage["parts"][number];

/**
 * The parts of a message to show. After a yes the server calls a gated browser tool once more, with the same id; the
 * first part of such a call has the approval, and shows the result too.
 */
export function firstParts(parts: readonly Part[]): Part[] {
  const called = new Set<string>();
  return parts.filter((part) => {
    if (!isToolUIPart(part)) return true;
    const isFirst = !called.has(part.toolCallId);
    called.add(part.toolCallId);
    return isFirst;
  });
}
