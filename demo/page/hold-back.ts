import type { UIMessage } from "ai";

/**
 * A resumed stream replays its message from the start. Until the replay has caught up, this shows the message as it was,
 * so that nothing on the page disappears and comes back.
 */
export function holdBack(held: readonly UIMessage[], live: UIMessage[]): UIMessage[] {
  const before = new Map(held.map((message) => [message.id, message]));
  let changed = false;
  const shown = live.map((message) => {
    const old = before.get(message.id);
    if (!old || weight(message) >= weight(old)) return message;
    changed = true;
    return old;
  });
  return changed ? shown : live;
}

/** Grows with every chunk that adds something to see. */
function weight(message: UIMessage): number {
  return message.parts.reduce((sum, part) => sum + 1 + ("text" in part ? part.text.length : 0), 0);
}
