import type { Chat } from "@ai-sdk/react";
import type { ChatStatus, UIMessage } from "ai";
import { useCallback, useEffect, useMemo, useState } from "react";
import { isDisconnect, isRefusal } from "./error-sentence.ts";
import { isBusy } from "./is-busy.ts";
import { stillUnsent, storedOutbox, storeOutbox } from "./outbox.ts";

export interface OutboxOptions {
  chat: Chat<UIMessage>;
  chatId: string;
  chatMessages: UIMessage[];
  status: ChatStatus;
  /** Reads the server's messages into the chat. */
  readMessages: () => Promise<unknown>;
}

export interface Outbox {
  /** The messages that were not sent and that later messages have overtaken. */
  overtaken: readonly UIMessage[];
  /** The id of the chat's last message, if it was not sent. */
  unsentId: string | undefined;
  /** Takes a message that was not sent out of the chat, because a request would not send it. */
  setAside: () => Promise<void>;
  /** Sends one of the overtaken messages now. */
  sendNow: (id: string) => Promise<void>;
  remove: (id: string) => void;
}

/** Keeps the messages that could not be sent until the person sends them again or removes them. */
export function useOutbox({ chat, chatId, chatMessages, status, readMessages }: OutboxOptions): Outbox {
  const [kept, setKept] = useState<readonly UIMessage[]>(() => storedOutbox(chatId));
  const overtaken = useMemo(() => stillUnsent(kept, chatMessages), [kept, chatMessages]);
  const unsent = status === "error" ? unsentOf(chat) : undefined;

  useEffect(() => {
    storeOutbox(chatId, unsent ? [...overtaken, unsent] : overtaken);
  }, [chatId, overtaken, unsent]);

  const setAside = useCallback(async () => {
    if (!unsentOf(chat)) return;
    // The request may have reached the server although its reply did not come back.
    await Promise.race([readMessages().catch(() => undefined), after(longestReadMs)]);
    const lost = isBusy(chat.status) ? undefined : unsentOf(chat);
    if (!lost) return;
    setKept((all) => [...stillUnsent(all, [lost]), lost]);
    chat.messages = chat.messages.filter(({ id }) => id !== lost.id);
  }, [chat, readMessages]);
  const remove = useCallback((id: string) => setKept((all) => all.filter((message) => message.id !== id)), []);
  const sendNow = useCallback(
    async (id: string) => {
      if (isBusy(chat.status)) return;
      await setAside();
      const message = kept.find((each) => each.id === id);
      if (!message || isBusy(chat.status) || chat.messages.some((each) => each.id === id)) return;
      remove(id);
      await chat.sendMessage({ id, parts: message.parts });
    },
    [chat, kept, remove, setAside],
  );

  return { overtaken, unsentId: unsent?.id, setAside, sendNow, remove };
}

/** A server that does not reply does not keep the person's next message from being shown. */
const longestReadMs = 3000;
const after = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** The last message, if its request failed before the server took it. */
function unsentOf(chat: Chat<UIMessage>): UIMessage | undefined {
  const last = chat.messages.at(-1);
  const isLost = isDisconnect(chat.error) || isRefusal(chat.error);
  return chat.status === "error" && isLost && last?.role === "user" ? last : undefined;
}
