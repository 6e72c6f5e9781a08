import type { ChatStatus } from "ai";
import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import { cardName } from "./card-name.ts";
import type { Card } from "./cards.ts";
import { useWords } from "./preferences.ts";
import type { Wires } from "./wires.ts";

interface AnnouncerProps {
  cards: ReadonlyMap<string, Card>;
  clockOffset: number;
  status: ChatStatus;
  wires: Wires;
}

interface Announcement {
  key: number;
  words: string;
}

const announcementsKept = 10;
const warnBeforeMs = 60_000;

/**
 * Tells screen readers what changes on the page. Each announcement is a new line of a log, because a screen reader does
 * not read a text again that is replaced by the same text.
 */
export function Announcer({ cards, clockOffset, status, wires }: AnnouncerProps) {
  const { t, language } = useWords();
  const [said, setSaid] = useState<readonly Announcement[]>([]);
  const announced = useRef(new Map([...cards].map(([id, { state }]) => [id, state])));
  const statusBefore = useRef(status);
  const connection = useSyncExternalStore(wires.subscribe, () => wires.connection()?.status);
  const connectionBefore = useRef(connection);

  useEffect(() => {
    const news: string[] = [];
    for (const card of cards.values()) {
      if (!card.isDescribed || announced.current.get(card.approvalId) === card.state) continue;
      announced.current.set(card.approvalId, card.state);
      const { title, words } = cardName(card, language);
      const name = t.card.named(title, words);
      news.push(card.state === "asked" ? t.announceAsked(name) : t.announceState(name, t.tags[card.state]));
    }
    if (news.length === 0 && statusBefore.current === "streaming" && status === "ready") news.push(t.announceReply);
    const lost = connection === "reconnecting" || connection === "closed";
    const wasLost = connectionBefore.current === "reconnecting" || connectionBefore.current === "closed";
    if (lost && !wasLost) news.push(t.announceLost);
    if (wasLost && connection === "open") news.push(t.announceFound);
    if (lost || connection === "open") connectionBefore.current = connection;
    statusBefore.current = status;
    if (news.length > 0) setSaid((all) => withNews(all, news));
  }, [cards, status, connection, t, language]);

  const warned = useRef(new Set<string>());
  useEffect(() => {
    const timers = [...cards.values()].flatMap((card) => {
      const { approvalId, state, expiresAt } = card;
      const left = expiresAt === undefined ? 0 : expiresAt - Date.now() - clockOffset;
      if (state !== "asked" || left <= 0 || left > longestTimerMs || warned.current.has(approvalId)) return [];
      const warn = () => {
        warned.current.add(approvalId);
        const { title, words } = cardName(card, language);
        setSaid((all) => withNews(all, [t.card.announceExpiry(t.card.named(title, words))]));
      };
      return [setTimeout(warn, Math.max(0, left - warnBeforeMs))];
    });
    return () => {
      for (const timer of timers) clearTimeout(timer);
    };
  }, [cards, clockOffset, t, language]);

  return (
    <div className="visually-hidden" role="log" aria-live="polite" aria-label={t.card.announcements}>
      {said.map(({ key, words }) => (
        <p key={key}>{words}</p>
      ))}
    </div>
  );
}

/** The longest time that a browser's timer can wait for. */
const longestTimerMs = 2 ** 31 - 1;

function withNews(said: readonly Announcement[], news: readonly string[]): Announcement[] {
  const first = (said.at(-1)?.key ?? 0) + 1;
  const added = news.map((words, index) => ({ key: first + index, words }));
  return [...said, ...added].slice(-announcementsKept);
}
