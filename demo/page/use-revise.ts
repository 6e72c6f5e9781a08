import type { Chat } from "@ai-sdk/react";
import type { UIMessage } from "ai";
import { useCallback, useRef } from "react";
import { isBusy } from "./is-busy.ts";
import { editedParts } from "./message-text.ts";

export interface ReviseOptions {
  /** The last message was not sent. */
  isUnsent: boolean;
  setAside: () => Promise<void>;
  setInBackground: (inBackground: boolean) => void;
}

export interface Revise {
  edit: (messageId: string, text: string) => Promise<void>;
  again: (messageId: string) => void;
  /** Sends an edit that failed once more. False if the last message is no such edit. */
  repeatEdit: () => boolean;
}

/** Changes what was said: other words of the person, or another reply. */
export function useRevise(chat: Chat<UIMessage>, options: ReviseOptions): Revise {
  const { isUnsent, setAside, setInBackground } = options;
  const edited = useRef<string>(undefined);
  const edit = useCallback(
    async (messageId: string, text: string) => {
      if (isUnsent) await setAside();
      const message = chat.messages.find(({ id }) => id === messageId);
      if (!message || isBusy(chat.status)) return;
      setInBackground(false);
      edited.current = messageId;
      await chat.sendMessage({ parts: editedParts(message, text), messageId });
    },
    [chat, isUnsent, setAside, setInBackground],
  );
  const again = useCallback(
    async (messageId: string) => {
      if (isUnsent) await setAside();
      if (isBusy(chat.status) || !chat.messages.some(({ id }) => id === messageId)) return;
      setInBackground(false);
      await chat.regenerate({ messageId });
    },
    [chat, isUnsent, setAside, setInBackground],
  );
  const repeatEdit = useCallback(() => {
    const last = chat.messages.at(-1);
    if (chat.status !== "error" || last?.role !== "user" || last.id !== edited.current) return false;
    setInBackground(false);
    // The same edit twice is one: the server compares id and content.
    void chat.sendMessage({ parts: last.parts, messageId: last.id });
    return true;
  }, [chat, setInBackground]);
  return { edit, again: useCallback((messageId: string) => void again(messageId), [again]), repeatEdit };
}
