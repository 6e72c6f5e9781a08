import type { UIMessage } from "ai";
import { isToolPart } from "../client/approval-info.ts";

/**
 * The messages to show during and after a resumed stream. While it replays a message from its start (`replaying`), that
 * message is shown as it was (`held`) until the replay has caught up, so that nothing disappears and comes back.
 * Afterwards a call keeps the approval that it had, until the page reads the server's messages again.
 */
export function holdBack<UI_MESSAGE extends UIMessage>(
  held: readonly UI_MESSAGE[],
  received: UI_MESSAGE[],
  replaying: boolean,
): UI_MESSAGE[] {
  const before = new Map(held.map((message) => [message.id, message]));
  let changed = false;
  const shown = received.map((message) => {
    const old = before.get(message.id);
    if (!old) return message;
    const next = replaying && weight(message) < weight(old) ? old : withApprovals(message, old);
    changed ||= next !== message;
    return next;
  });
  return changed ? shown : received;
}

/** A replay has no question for calls that were answered, because `ai@6` could not read it. This puts it back. */
function withApprovals<UI_MESSAGE extends UIMessage>(message: UI_MESSAGE, old: UI_MESSAGE): UI_MESSAGE {
  const approvals = new Map(
    old.parts.flatMap((part) => (isToolPart(part) && part.approval ? [[part.toolCallId, part.approval] as const] : [])),
  );
  const lacks = (part: Part) => isToolPart(part) && !part.approval && approvals.has(part.toolCallId);
  if (!message.parts.some(lacks)) return message;
  const parts = message.parts.map((part) =>
    isToolPart(part) && lacks(part) ? ({ ...part, approval: approvals.get(part.toolCallId) } as Part) : part,
  );
  return { ...message, parts };
}

type Part = UIMessage["parts"][number];

/** A size that grows with every chunk that adds something visible. */
function weight(message: UIMessage): number {
  return message.parts.reduce((sum, part) => sum + 1 + ("text" in part ? part.text.length : 0), 0);
}
