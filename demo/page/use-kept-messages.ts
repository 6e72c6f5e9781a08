import type { UIMessage } from "ai";
import { useCallback, useEffect, useState } from "react";
import { keptMessages, storedMessages, storeMessages } from "./kept-messages.ts";

export interface KeptMessages {
  /** The messages that were not sent and that are not in the chat: those of before a reload, or of the other mode. */
  overtaken: readonly UIMessage[];
  forget: (messageId: string) => void;
}

/** Keeps messages that could not be sent, also when the page is loaded again, until the person sends or removes them. */
export function useKeptMessages(
  chatId: string,
  messages: readonly UIMessage[],
  unsent: readonly string[],
): KeptMessages {
  const [kept, setKept] = useState(() => storedMessages(chatId));
  useEffect(() => setKept((before) => keptMessages(before, messages, unsent)), [messages, unsent]);
  useEffect(() => storeMessages(chatId, kept), [chatId, kept]);
  const forget = useCallback((messageId: string) => setKept((all) => all.filter(({ id }) => id !== messageId)), []);
  return { overtaken: kept.filter(({ id }) => !messages.some((message) => message.id === id)), forget };
}
