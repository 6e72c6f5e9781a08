import { textIn } from "adk-stream-protocol/protocol";
import type { ChatStatus } from "ai";
import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import type { Card } from "./cards.ts";
import { useWords } from "./preferences.ts";
import type { Wires } from "./wires.ts";

interface AnnouncerProps {
  cards: ReadonlyMap<string, Card>;
  status: ChatStatus;
  wires: Wires;
}

/** Tells screen readers what changes on the page. */
export function Announcer({ cards, status, wires }: AnnouncerProps) {
  const { t, language } = useWords();
  const [said, setSaid] = useState("");
  const before = useRef(cards);
  const statusBefore = useRef(status);
  const connection = useSyncExternalStore(wires.subscribe, () => wires.connection()?.status);
  const connectionBefore = useRef(connection);

  useEffect(() => {
    const news: string[] = [];
    for (const { approvalId, title, state } of cards.values()) {
      if (before.current.get(approvalId)?.state === state) continue;
      const name = textIn(title, language);
      news.push(state === "asked" ? t.announceAsked(name) : t.announceState(name, t.tags[state]));
    }
    if (news.length === 0 && statusBefore.current === "streaming" && status === "ready") news.push(t.announceReply);
    const lost = connection === "reconnecting" || connection === "closed";
    const wasLost = connectionBefore.current === "reconnecting" || connectionBefore.current === "closed";
    if (lost && !wasLost) news.push(t.announceLost);
    if (wasLost && connection === "open") news.push(t.announceFound);
    if (lost || connection === "open") connectionBefore.current = connection;
    before.current = cards;
    statusBefore.current = status;
    if (news.length > 0) setSaid(news.join(" "));
  }, [cards, status, connection, t, language]);

  return (
    <div className="visually-hidden" role="status" aria-live="polite">
      {said}
    </div>
  );
}
