import type { ChatStatus } from "ai";
import { useEffect, useRef, useState } from "react";
import { useWords } from "./preferences.ts";

const announcementsKept = 10;

/**
 * Tells screen readers that a reply is complete. Each announcement is a new line of a log, because a screen reader does not
 * read a text again that is replaced by the same text. Cards and the connection announce their changes themselves.
 */
export function Announcer({ status }: { status: ChatStatus }) {
  const { t } = useWords();
  const [count, setCount] = useState(0);
  const statusBefore = useRef(status);
  useEffect(() => {
    if (statusBefore.current === "streaming" && status === "ready") setCount((before) => before + 1);
    statusBefore.current = status;
  }, [status]);
  const first = Math.max(0, count - announcementsKept);
  return (
    <div className="visually-hidden" role="log" aria-live="polite" aria-label={t.card.announcements}>
      {Array.from({ length: count - first }, (_, index) => (
        <p key={first + index}>{t.announceReply}</p>
      ))}
    </div>
  );
}
