import { useEffect, useId, useRef, useState } from "react";
import type { ApprovalInfo, ChatApprovals } from "../client/chat-approvals.ts";
import { type CardLookProps, InfoCard } from "./approval-card.tsx";
import { announce } from "./announce.ts";
import { ApprovalLanguage } from "./approval-language.tsx";
import { useCard } from "./card-parts.tsx";
import { isUndecided } from "./card-states.ts";

/** The questions to show, and how their cards look. */
export interface ApprovalInboxProps extends CardLookProps {
  /** The approvals of a person in all chats, as `useApprovals` returns them. */
  approvals: ChatApprovals;
  /** The address of a chat. Without it, the cards have no links. */
  chatHref?: ((chatId: string) => string | undefined) | undefined;
}

/** Drawing a thousand cards at once takes seconds, and a person sees three. */
const cardsAtOnce = 20;

/**
 * All questions that wait for a person, in all chats, the newest last. A card that was answered here stays until the page is
 * left, so that the person sees what became of it. The first cards are drawn at once, the others as the person scrolls.
 */
export function ApprovalInbox({ language, labels, ...props }: ApprovalInboxProps) {
  return (
    <ApprovalLanguage language={language} labels={labels}>
      <Inbox {...props} />
    </ApprovalLanguage>
  );
}

function Inbox({ approvals, chatHref, ...look }: Omit<ApprovalInboxProps, "language" | "labels">) {
  const { labels } = useCard();
  const titleId = useId();
  const shown = useRef(new Set<string>());
  const [most, setMost] = useState(cardsAtOnce);
  const rows = approvals
    .list()
    .filter((info) => isOpen(info) || shown.current.has(info.approvalId))
    .toSorted((a, b) => (a.createdAt ?? 0) - (b.createdAt ?? 0));
  for (const { approvalId } of rows) shown.current.add(approvalId);
  const open = rows.filter(isOpen).length;
  const left = Math.max(0, rows.length - most);
  useNewsOfUndrawn(left, `${labels.states.asked} ${open}`);
  const Heading = `h${(look.headingLevel ?? 3) - 1}` as "h2";
  return (
    <section data-part="inbox" aria-labelledby={titleId}>
      <Heading data-part="inbox-title" id={titleId}>
        {labels.states.asked} <span data-part="count">{open}</span>
      </Heading>
      {rows.length === 0 && <p data-part="inbox-empty">{labels.inboxEmpty}</p>}
      <ul data-part="inbox-list">
        {rows.slice(0, most).map((info) => (
          <li key={info.approvalId} data-part="inbox-item">
            <InfoCard info={info} approvals={approvals} {...look} />
            <ChatLink href={info.chatId === undefined ? undefined : chatHref?.(info.chatId)} />
          </li>
        ))}
      </ul>
      {left > 0 && <More left={left} onMore={() => setMost(most + cardsAtOnce)} />}
    </section>
  );
}

/** Draws more cards when a person comes near the end of the list. Also a button, for keyboards and screen readers. */
function More({ left, onMore }: { left: number; onMore: () => void }) {
  const { labels } = useCard();
  const button = useRef<HTMLButtonElement>(null);
  // Again after each drawing: an observer reports only changes, and the end may still be near.
  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && onMore(), {
      rootMargin: "1000px",
    });
    if (button.current) observer.observe(button.current);
    return () => observer.disconnect();
  });
  return (
    <button type="button" data-part="show" ref={button} onClick={onMore}>
      {labels.showMore(left)}
    </button>
  );
}

/** A card announces its question itself. This announces those whose cards are not drawn yet. */
function useNewsOfUndrawn(left: number, words: string): void {
  const before = useRef(left);
  useEffect(() => {
    if (left > before.current) announce(words);
    before.current = left;
  }, [left, words]);
}

/** What waits for the person: an answer, or what became of a call. */
function isOpen(info: ApprovalInfo): boolean {
  return isUndecided(info) || info.state === "unknown";
}

function ChatLink({ href }: { href: string | undefined }) {
  const { labels } = useCard();
  if (href === undefined) return null;
  return (
    <a data-part="chat-link" href={href}>
      {labels.openChat}
    </a>
  );
}
