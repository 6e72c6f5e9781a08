import type { ChatPage, ChatSummary } from "./chats-api.ts";

/** The pages of the list that were read so far. */
export interface ChatPages {
  chats: readonly ChatSummary[];
  /** Names the page after the last one that was read. */
  cursor: string | undefined;
}

/**
 * Takes over a new first page. A chat that changed is on it. One that should be on it by its time and is not was deleted,
 * so the pages after the first one need not be read again.
 */
export function withFirstPage(known: ChatPages | undefined, page: ChatPage): ChatPages {
  const last = page.chats.at(-1);
  if (!known || !last || page.cursor === undefined) return { chats: page.chats, cursor: page.cursor };
  const ids = new Set(page.chats.map(({ id }) => id));
  const isRead = known.chats.some(({ id }) => ids.has(id));
  // So many chats changed that there may be unread ones between this page and the others.
  if (!isRead) return { chats: page.chats, cursor: page.cursor };
  const older = known.chats.filter(({ id, updatedAt }) => !ids.has(id) && updatedAt <= last.updatedAt);
  if (older.length === 0) return { chats: page.chats, cursor: page.cursor };
  return { chats: [...page.chats, ...older], cursor: known.cursor };
}

/** Adds the page after the last one. A chat that changed meanwhile may be known already. */
export function withNextPage(known: ChatPages, page: ChatPage): ChatPages {
  const ids = new Set(known.chats.map(({ id }) => id));
  return { chats: [...known.chats, ...page.chats.filter(({ id }) => !ids.has(id))], cursor: page.cursor };
}

/** The chats whose titles have all words of a search, whatever their case. */
export function searchChats(chats: readonly ChatSummary[], search: string): ChatSummary[] {
  const words = fold(search).split(/\s+/).filter(Boolean);
  return chats.filter(({ title }) => words.every((word) => fold(title).includes(word)));
}

/** How many requests wait in chats other than this one. */
export function waitingElsewhere(chats: readonly ChatSummary[], chatId: string): number {
  return chats.reduce((sum, { id, pending }) => (id === chatId ? sum : sum + pending), 0);
}

/** Full-width letters, as Japanese keyboards write them, are the same letters. */
const fold = (text: string): string => text.normalize("NFKC").toLowerCase();
