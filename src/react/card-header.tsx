import { visibleText } from "../protocol/visible-text.ts";
import type { ApprovalInfo } from "../client/chat-approvals.ts";
import { Slot, useCard } from "./card-parts.tsx";
import { hasBegun, isUndecided } from "./card-states.ts";
import { VisibleText } from "./visible-text.tsx";

export interface CardHeaderProps {
  info: ApprovalInfo;
  /** What the policy calls the call. The tool's own name is shown beside it. */
  title: string | undefined;
  level: 2 | 3 | 4 | 5 | 6;
}

/** What the call is, and the state of its approval. */
export function CardHeader({ info, title, level }: CardHeaderProps) {
  const { card, state, toolName } = info;
  const { labels, part } = useCard();
  const Heading = `h${level}` as const;
  return (
    <header {...part("header")}>
      {card?.icon !== undefined && (
        <span {...part("icon")} aria-hidden="true">
          <bdi>{firstCharacter(card.icon)}</bdi>
        </span>
      )}
      <div {...part("heading")}>
        <Heading {...part("title")}>
          <VisibleText text={title ?? toolName} />
        </Heading>
        {title !== undefined && (
          <code {...part("tool")}>
            <VisibleText text={toolName} />
          </code>
        )}
      </div>
      <span {...part("tags")}>
        {isUndecided(info) && card?.tone === "danger" && <span {...part("danger")}>{labels.danger}</span>}
        {hasBegun(info) && <span {...part("decision")}>{labels.states.approved}</span>}
        <Slot name="status">
          <span {...part("status")}>
            {(state === "sending" || state === "running") && <span {...part("spinner")} aria-hidden="true" />}
            {labels.states[state]}
          </span>
        </Slot>
      </span>
    </header>
  );
}

/** What a person sees as one character, if it can be seen: an icon must not be a sentence or change what is around it. */
function firstCharacter(icon: string): string {
  const [first] = new Intl.Segmenter().segment(icon);
  const text = first?.segment ?? "";
  const isSeen = visibleText(text).some(({ kind }) => kind === "text");
  return isSeen ? text : "";
}
