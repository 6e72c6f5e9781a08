import { useCallback, useEffect, useRef, useState } from "react";
import { type ChatPages, withFirstPage, withNextPage } from "./chat-pages.ts";
import { type ChatSummary, fetchChats } from "./chats-api.ts";

export interface ChatList {
  /** Undefined until the first page was read. */
  chats: readonly ChatSummary[] | undefined;
  hasMore: boolean;
  /** The list could not be read. */
  failed: boolean;
  refresh: () => void;
  loadMore: () => void;
  /** Reads a large page, for a search in all titles. */
  loadMany: () => void;
}

const pollMs = 5000;
const many = 1000;

/** The owner's chats. The first page is read again and again while the page is visible, so that waiting requests show. */
export function useChatList(): ChatList {
  const [pages, setPages] = useState<ChatPages>();
  const [failed, setFailed] = useState(false);
  const ask = useRef<() => void>(() => undefined);

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let unmounted = false;
    let latest = 0;
    const poll = async () => {
      clearTimeout(timer);
      latest += 1;
      const mine = latest;
      const page = await fetchChats().catch(() => undefined);
      // A later request has been sent meanwhile, and what it returns is newer.
      if (unmounted || mine !== latest) return;
      setFailed(!page);
      if (page) setPages((known) => keep(known, withFirstPage(known, page)));
      if (!document.hidden) timer = setTimeout(() => void poll(), pollMs);
    };
    const pollIfVisible = () => {
      if (!document.hidden) void poll();
    };
    ask.current = () => void poll();
    void poll();
    document.addEventListener("visibilitychange", pollIfVisible);
    return () => {
      unmounted = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", pollIfVisible);
    };
  }, []);

  const cursor = pages?.cursor;
  const loading = useRef(false);
  const load = useCallback(
    async (limit?: number) => {
      if (cursor === undefined || loading.current) return;
      loading.current = true;
      const page = await fetchChats(cursor, limit).catch(() => undefined);
      loading.current = false;
      setFailed(!page);
      // The list may have been replaced meanwhile; this page then does not continue it.
      if (page) setPages((known) => (known?.cursor === cursor ? withNextPage(known, page) : known));
    },
    [cursor],
  );
  const refresh = useCallback(() => ask.current(), []);

  const loadMore = useCallback(() => void load(), [load]);
  const loadMany = useCallback(() => void load(many), [load]);

  return { chats: pages?.chats, hasMore: cursor !== undefined, failed, refresh, loadMore, loadMany };
}

/** The old value if the new one is equal, so that React does not draw it again. */
function keep(known: ChatPages | undefined, next: ChatPages): ChatPages {
  return known && JSON.stringify(known) === JSON.stringify(next) ? known : next;
}
