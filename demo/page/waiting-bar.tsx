import type { ApprovalInfo } from "adk-stream-protocol/client";
import { Countdown } from "adk-stream-protocol/react";
import { cardName } from "./card-name.ts";
import { useWords } from "./preferences.ts";
import { showCard } from "./show-card.ts";

/** Names the calls that wait for the person and are scrolled out of sight, and leads to the first of them. */
export function WaitingBar({ cards }: { cards: readonly ApprovalInfo[] }) {
  const { t, language } = useWords();
  const [first] = cards;
  if (!first) return null;
  const { title, words } = cardName(first, language);
  const name = words || title;
  return (
    <div className="waiting-bar" data-testid="waiting-bar">
      <span className="waiting-bar-words">
        {t.card.waiting(cards.length)} <strong>{name}</strong>
      </span>
      {first.expiresAt !== undefined && <Countdown expiresAt={first.expiresAt} />}
      <button
        type="button"
        className="button button-small"
        aria-label={t.card.named(t.card.show, name)}
        onClick={() => showCard(first.approvalId)}
      >
        {t.card.show}
      </button>
    </div>
  );
}
