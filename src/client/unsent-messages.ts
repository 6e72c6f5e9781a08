import type { UIMessage } from "ai";

/** The server's messages with those that it does not have: each before the message that it was before, or last. */
export function withUnsent<UI_MESSAGE extends UIMessage>(
  server: readonly UI_MESSAGE[],
  local: readonly UI_MESSAGE[],
  unsent: ReadonlySet<string>,
): UI_MESSAGE[] {
  const merged = [...server];
  for (const [index, message] of local.entries()) {
    if (!unsent.has(message.id)) continue;
    const later = new Set(local.slice(index).map(({ id }) => id));
    const place = merged.findIndex(({ id }) => later.has(id));
    merged.splice(place < 0 ? merged.length : place, 0, message);
  }
  return merged;
}
