import type { Chat } from "@ai-sdk/react";
import type { UIMessage } from "ai";
import { useCallback, useMemo, useRef, useState } from "react";
import { holdBack } from "./hold-back.ts";

export interface Resume {
  /** The messages to show: those of the chat, but without gaps while a resumed stream catches up. */
  messages: UIMessage[];
  /** Reads the reply that is being generated, from its beginning. */
  resume: () => void;
  /** The page started the last request by itself, so the person is not told if it fails. The page reads the messages later. */
  inBackground: boolean;
  setInBackground: (inBackground: boolean) => void;
}

/** Resumes a running reply without anything on the page disappearing and coming back. */
export function useResume(chat: Chat<UIMessage>, chatMessages: UIMessage[], busy: boolean): Resume {
  const held = useRef<UIMessage[]>([]);
  // The chat becomes busy only when the stream brings something. Until then `resume` must not ask a second time.
  const resuming = useRef(false);
  const messages = useMemo(() => holdBack(held.current, chatMessages, busy && resuming.current), [busy, chatMessages]);
  const [inBackground, setInBackground] = useState(false);
  const resume = useCallback(() => {
    if (resuming.current) return;
    held.current = chat.messages;
    setInBackground(true);
    resuming.current = true;
    void chat.resumeStream().then(() => {
      resuming.current = false;
      if (chat.status !== "error") setInBackground(false);
    });
  }, [chat]);
  return { messages, resume, inBackground, setInBackground };
}
