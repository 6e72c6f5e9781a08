import { useEffect, useRef, useState } from "react";
import { isToolUIPart, type UIMessage } from "ai";
import { messageText } from "./message-text.ts";
import { useWords } from "./preferences.ts";
import type { PageChat } from "./use-page-chat.ts";

const announcementsKept = 10;

/**
 * Tells screen readers that a reply is complete. Each announcement is a new line of a log, because a screen reader does not
 * read a text again that is replaced by the same text. Cards and the connection announce their changes themselves.
 */
export function Announcer({ chat }: { chat: PageChat }) {
  const { t } = useWords();
  const [count, setCount] = useState(0);
  const { isBusy, hasFailed } = chat;
  // A reply that is read again, after a reload or in the other mode, is not new.
  const shown = sizeOf(chat.messages.at(-1));
  const known = useRef(shown);
  const wasBusy = useRef(false);
  useEffect(() => {
    const hasEnded = wasBusy.current && !isBusy && !hasFailed;
    wasBusy.current = isBusy;
    if (hasEnded && shown !== undefined && shown !== known.current) setCount((before) => before + 1);
    if (!isBusy) known.current = shown;
  }, [isBusy, hasFailed, shown]);
  const first = Math.max(0, count - announcementsKept);
  return (
    <div className="visually-hidden" role="log" aria-live="polite" aria-label={t.card.announcements}>
      {Array.from({ length: count - first }, (_, index) => (
        <p key={first + index}>{t.announceReply}</p>
      ))}
    </div>
  );
}

/** Changes with the words and the calls of a reply. */
function sizeOf(message: UIMessage | undefined): string | undefined {
  if (message?.role !== "assistant") return undefined;
  return `${message.id} ${message.parts.filter(isToolUIPart).length} ${messageText(message).length}`;
}
