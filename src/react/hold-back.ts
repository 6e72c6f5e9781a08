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
  const shown = received.map((message) => {
    const old = before.get(message.id);
    if (!old) return message;
    return replaying && weight(message) < weight(old) ? old : withApprovals(message, old);
  });
  return unlessSame(received, shown);
}

/** A replay has no question for calls that were answered, because `ai@6` could not read it. This puts it back. */
function withApprovals<UI_MESSAGE extends UIMessage>(message: UI_MESSAGE, old: UI_MESSAGE): UI_MESSAGE {
  const approvals = new Map(
    old.parts.flatMap((part) => (isToolPart(part) && part.approval ? [[part.toolCallId, part.approval] as const] : [])),
  );
  const parts = message.parts.map((part) => {
    const approval = isToolPart(part) && !part.approval && approvals.get(part.toolCallId);
    return approval ? ({ ...part, approval } as Part) : part;
  });
  return unlessSame(message.parts, parts) === parts ? { ...message, parts } : message;
}

/** The list as it was, if nothing of it has changed: React draws again what is another object. */
function unlessSame<T>(before: T[], after: T[]): T[] {
  return after.every((each, index) => each === before[index]) ? before : after;
}

type Part = UIMessage["parts"][number];

/** A size that grows with every chunk that adds something visible. */
function weight(message: UIMessage): number {
  return message.parts.reduce((sum, part) => sum + 1 + ("text" in part ? part.text.length : 0), 0);
}
