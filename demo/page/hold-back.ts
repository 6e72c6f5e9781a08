import { isToolUIPart, type UIMessage } from "ai";

/**
 * A resumed stream replays its message from the start. Until the replay has caught up, this shows the message as it was,
 * so that nothing on the page disappears and comes back.
 */
export function holdBack(held: readonly UIMessage[], live: UIMessage[]): UIMessage[] {
  const before = new Map(held.map((message) => [message.id, message]));
  let changed = false;
  const shown = live.map((message) => {
    const old = before.get(message.id);
    if (!old) return message;
    const next = weight(message) >= weight(old) ? withApprovals(message, old) : old;
    changed ||= next !== message;
    return next;
  });
  return changed ? shown : live;
}

/** A replay brings answered calls without their question, because `ai@6` could not read it. They had one all the same. */
function withApprovals(message: UIMessage, old: UIMessage): UIMessage {
  const approvals = new Map(
    old.parts.flatMap((part) =>
      isToolUIPart(part) && part.approval ? [[part.toolCallId, part.approval] as const] : [],
    ),
  );
  const lacks = (part: Part) => isToolUIPart(part) && !part.approval && approvals.has(part.toolCallId);
  if (!message.parts.some(lacks)) return message;
  const parts = message.parts.map((part) =>
    isToolUIPart(part) && lacks(part) ? ({ ...part, approval: approvals.get(part.toolCallId) } as Part) : part,
  );
  return { ...message, parts };
}

type Part = UIMessage["parts"][number];

/** Grows with every chunk that adds something to see. */
function weight(message: UIMessage): number {
  return message.parts.reduce((sum, part) => sum + 1 + ("text" in part ? part.text.length : 0), 0);
}
