import type { Chat } from "@ai-sdk/react";
import type { UIMessage } from "ai";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { fetchMessages, type MessagePage } from "./api.ts";
import { isBusy } from "./is-busy.ts";
import { withPageBefore } from "./older-messages.ts";

export interface OlderMessages {
  state: "none" | "more" | "loading" | "failed";
  load: () => void;
  /** Loads all older messages, unless it is stopped. */
  goToBeginning: () => void;
  isGoingToBeginning: boolean;
  stopGoing: () => void;
}

export interface OlderMessagesOptions {
  chatId: string;
  initialPage: MessagePage;
}

export interface OlderMessagesState {
  older: OlderMessages;
  /** The newest page was read again; with the older ones it makes `shown`. */
  onPage: (page: MessagePage, shown: readonly UIMessage[]) => void;
}

/** How many messages are loaded at once on the way to the beginning. They are not drawn. */
const messagesOnTheWay = 500;

/** Reads a long chat page by page, from its end. */
export function useOlderMessages(chat: Chat<UIMessage>, options: OlderMessagesOptions): OlderMessagesState {
  const { chatId, initialPage } = options;
  const [before, setBefore] = useState(initialPage.before);
  const [attempt, setAttempt] = useState<"loading" | "failed">();
  const [isGoing, setGoing] = useState(false);
  const loading = useRef(false);

  const load = useCallback(
    async (limit?: number) => {
      // A reply replaces the chat's messages piece by piece, so an older page waits for its end.
      if (before === undefined || loading.current || isBusy(chat.status)) return;
      loading.current = true;
      setAttempt("loading");
      const first = chat.messages[0]?.id;
      const page = await fetchMessages(chatId, before, limit).catch(() => undefined);
      loading.current = false;
      setAttempt(page ? undefined : "failed");
      // The beginning may have changed meanwhile; this page then does not end where the messages begin.
      if (!page || isBusy(chat.status) || chat.messages[0]?.id !== first) return;
      chat.messages = withPageBefore(chat.messages, page);
      setBefore(page.before);
    },
    [chat, chatId, before],
  );
  const onPage = useCallback((page: MessagePage, shown: readonly UIMessage[]) => {
    // The older messages were dropped or there are none, so the next older page is the one before this page.
    if (shown.length === page.messages.length) setBefore(page.before);
  }, []);

  const state = before === undefined ? "none" : (attempt ?? "more");
  const isOver = state === "none" || state === "failed" || isBusy(chat.status);
  useEffect(() => {
    if (!isGoing) return undefined;
    if (isOver) setGoing(false);
    if (isOver || state === "loading") return undefined;
    // The page draws what it has before it asks for more.
    const frame = requestAnimationFrame(() => void load(messagesOnTheWay));
    return () => cancelAnimationFrame(frame);
  }, [isGoing, isOver, state, load]);

  const older = useMemo(
    (): OlderMessages => ({
      state,
      load: () => void load(),
      goToBeginning: () => setGoing(true),
      isGoingToBeginning: isGoing,
      stopGoing: () => setGoing(false),
    }),
    [state, load, isGoing],
  );
  return { older, onPage };
}
