import { useId, useRef } from "react";
import type { ApprovalInfo, ChatApprovals } from "../client/chat-approvals.ts";
import { type CardLookProps, InfoCard } from "./approval-card.tsx";
import { isUndecided } from "./card-states.ts";
import { ApprovalLanguage } from "./approval-language.tsx";
import { useCard } from "./card-parts.tsx";

/** The questions to show, and how their cards look. */
export interface ApprovalInboxProps extends CardLookProps {
  /** The approvals of a person in all chats, as `useApprovals` returns them. */
  approvals: ChatApprovals;
  /** The address of a chat. Without it, the cards have no links. */
  chatHref?: ((chatId: string) => string | undefined) | undefined;
}

/**
 * All questions that wait for a person, in all chats, the newest last. A card that was answered here stays until the page is
 * left, so that the person sees what became of it.
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
  const rows = approvals.list().filter((info) => isOpen(info) || shown.current.has(info.approvalId));
  for (const { approvalId } of rows) shown.current.add(approvalId);
  const Heading = `h${(look.headingLevel ?? 3) - 1}` as "h2";
  return (
    <section data-part="inbox" aria-labelledby={titleId}>
      <Heading data-part="inbox-title" id={titleId}>
        {labels.states.asked} <span data-part="count">{rows.filter(isOpen).length}</span>
      </Heading>
      {rows.length === 0 && <p data-part="inbox-empty">{labels.inboxEmpty}</p>}
      <ul data-part="inbox-list">
        {rows
          .toSorted((a, b) => (a.createdAt ?? 0) - (b.createdAt ?? 0))
          .map((info) => (
            <li key={info.approvalId} data-part="inbox-item">
              <InfoCard info={info} approvals={approvals} {...look} />
              <ChatLink info={info} chatHref={chatHref} />
            </li>
          ))}
      </ul>
    </section>
  );
}

/** What waits for the person: an answer, or what became of a call. */
function isOpen(info: ApprovalInfo): boolean {
  return isUndecided(info) || info.state === "unknown";
}

function ChatLink({ info, chatHref }: { info: ApprovalInfo; chatHref: ApprovalInboxProps["chatHref"] }) {
  const { labels } = useCard();
  const href = info.chatId === undefined ? undefined : chatHref?.(info.chatId);
  if (href === undefined) return null;
  return (
    <a data-part="chat-link" href={href}>
      {labels.openChat}
    </a>
  );
}
