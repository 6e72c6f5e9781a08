import type { UIMessage } from "ai";
import type { MessagePage } from "./api.ts";

/**
 * The newest page of a chat together with the older messages that the page has already. They are dropped if it is not
 * known what is between them and the new page; the reader can load them again.
 */
export function withOlderMessages(local: readonly UIMessage[], page: MessagePage): UIMessage[] {
  const [first] = page.messages;
  if (!first || page.before === undefined) return page.messages;
  const index = local.findIndex(({ id }) => id === first.id);
  return index > 0 ? [...local.slice(0, index), ...page.messages] : page.messages;
}

/** Puts an older page before the messages. Messages that they share are there once. */
export function withPageBefore(local: readonly UIMessage[], page: MessagePage): UIMessage[] {
  const ids = new Set(local.map(({ id }) => id));
  return [...page.messages.filter(({ id }) => !ids.has(id)), ...local];
}
