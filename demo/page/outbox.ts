import type { UIMessage } from "ai";

/** Messages that the server does not have, by the id of their chat. They survive a reload of the tab. */
export function storedOutbox(chatId: string): UIMessage[] {
  try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(keyOf(chatId)) ?? "[]");
    return Array.isArray(stored) ? stored.filter(isTextMessage) : [];
  } catch {
    return [];
  }
}

export function storeOutbox(chatId: string, messages: readonly UIMessage[]): void {
  try {
    if (messages.length === 0) sessionStorage.removeItem(keyOf(chatId));
    else sessionStorage.setItem(keyOf(chatId), JSON.stringify(messages));
  } catch {
    // The browser forbids storage or has no room. The messages then last until the tab is closed.
  }
}

/** The unsent messages that the server has not got after all. */
export function stillUnsent(unsent: readonly UIMessage[], known: readonly UIMessage[]): UIMessage[] {
  const ids = new Set(known.map(({ id }) => id));
  return unsent.filter(({ id }) => !ids.has(id));
}

const keyOf = (chatId: string): string => `unsent:${chatId}`;

function isTextMessage(value: unknown): value is UIMessage {
  const { id, role, parts } = Object(value) as Partial<UIMessage>;
  return typeof id === "string" && role === "user" && Array.isArray(parts);
}
