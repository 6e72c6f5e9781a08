import type { ChatStatus } from "ai";
import { useEffect, useRef, useState } from "react";
import type { Card } from "./cards.ts";
import { useWords } from "./preferences.ts";

/** Says aloud, for those who do not see the page, what changes on it. */
export function Announcer({ cards, status }: { cards: ReadonlyMap<string, Card>; status: ChatStatus }) {
  const { t } = useWords();
  const [said, setSaid] = useState("");
  const before = useRef(cards);
  const statusBefore = useRef(status);

  useEffect(() => {
    const news: string[] = [];
    for (const { approvalId, toolName, state } of cards.values()) {
      if (before.current.get(approvalId)?.state === state) continue;
      news.push(state === "waiting" ? t.announceWaiting(toolName) : t.announceState(toolName, t.tags[state]));
    }
    if (news.length === 0 && statusBefore.current === "streaming" && status === "ready") news.push(t.announceReply);
    before.current = cards;
    statusBefore.current = status;
    if (news.length > 0) setSaid(news.join(" "));
  }, [cards, status, t]);

  return (
    <div className="visually-hidden" role="status" aria-live="polite">
      {said}
    </div>
  );
}
