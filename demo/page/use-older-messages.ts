import type { Chat } from "@ai-sdk/react";
import type { UIMessage } from "ai";
import { useCallback, useMemo, useRef, useState } from "react";
import { fetchMessages, type MessagePage } from "./api.ts";
import { isBusy } from "./is-busy.ts";
import { withPageBefore } from "./older-messages.ts";

export interface OlderMessages {
  state: "none" | "more" | "loading" | "failed";
  load: () => void;
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

/** Reads a long chat page by page, from its end. */
export function useOlderMessages(chat: Chat<UIMessage>, options: OlderMessagesOptions): OlderMessagesState {
  const { chatId, initialPage } = options;
  const [before, setBefore] = useState(initialPage.before);
  const [attempt, setAttempt] = useState<"loading" | "failed">();
  const loading = useRef(false);

  const load = useCallback(async () => {
    // A reply replaces the chat's messages piece by piece, so an older page waits for its end.
    if (before === undefined || loading.current || isBusy(chat.status)) return;
    loading.current = true;
    setAttempt("loading");
    const first = chat.messages[0]?.id;
    const page = await fetchMessages(chatId, before).catch(() => undefined);
    loading.current = false;
    setAttempt(page ? undefined : "failed");
    // The beginning may have changed meanwhile; this page then does not end where the messages begin.
    if (!page || isBusy(chat.status) || chat.messages[0]?.id !== first) return;
    chat.messages = withPageBefore(chat.messages, page);
    setBefore(page.before);
  }, [chat, chatId, before]);
  const onPage = useCallback((page: MessagePage, shown: readonly UIMessage[]) => {
    // The older messages were dropped or there are none, so the next older page is the one before this page.
    if (shown.length === page.messages.length) setBefore(page.before);
  }, []);

  const state = before === undefined ? "none" : (attempt ?? "more");
  return { older: useMemo(() => ({ state, load: () => void load() }), [state, load]), onPage };
}
