import type { UIMessage } from "ai";

/**
 * The messages that were not sent: those that were kept before, unless the chat has them by now, and those of the chat
 * that are unsent. The same list if nothing has changed.
 */
export function keptMessages(
  before: readonly UIMessage[],
  messages: readonly UIMessage[],
  unsent: readonly string[],
): readonly UIMessage[] {
  const known = new Set(messages.map(({ id }) => id));
  const kept = before.filter(({ id }) => !known.has(id) || unsent.includes(id));
  const ids = new Set(kept.map(({ id }) => id));
  const added = messages.filter(({ id }) => unsent.includes(id) && !ids.has(id));
  return kept.length === before.length && added.length === 0 ? before : [...kept, ...added];
}

/** The kept messages of a chat. They survive a reload of the tab. */
export function storedMessages(chatId: string): readonly UIMessage[] {
  try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(keyOf(chatId)) ?? "[]");
    return Array.isArray(stored) ? stored.filter(isMessage) : [];
  } catch {
    return [];
  }
}

export function storeMessages(chatId: string, messages: readonly UIMessage[]): void {
  try {
    if (messages.length === 0) sessionStorage.removeItem(keyOf(chatId));
    else sessionStorage.setItem(keyOf(chatId), JSON.stringify(messages));
  } catch {
    // The browser forbids storage or has no room. The messages then last until the tab is closed.
  }
}

const keyOf = (chatId: string): string => `unsent:${chatId}`;

function isMessage(value: unknown): value is UIMessage {
  const { id, role, parts } = Object(value) as Partial<UIMessage>;
  return typeof id === "string" && role === "user" && Array.isArray(parts);
}
