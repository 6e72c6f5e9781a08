import type { UIMessage } from "ai";

/** The server's messages with those of the page that were not sent: each before the message that it was before, or last. */
export function withUnsent<UI_MESSAGE extends UIMessage>(
  server: readonly UI_MESSAGE[],
  local: readonly UI_MESSAGE[],
  unsent: ReadonlySet<string>,
): UI_MESSAGE[] {
  const known = new Set(server.map(({ id }) => id));
  const merged = [...server];
  for (const [index, message] of local.entries()) {
    if (known.has(message.id) || !unsent.has(message.id)) continue;
    const next = local.slice(index).find(({ id }) => known.has(id));
    merged.splice(next ? merged.findIndex(({ id }) => id === next.id) : merged.length, 0, message);
  }
  return merged;
}
