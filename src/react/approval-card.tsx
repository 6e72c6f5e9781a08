import { memo, type ReactNode, useMemo, useRef, useState } from "react";
import type { ApprovalInfo, ApprovalResolution, ChatApprovals } from "../client/chat-approvals.ts";
import { textIn } from "../protocol/card.ts";
import { ApprovalLanguage, type LanguageProps } from "./approval-language.tsx";
import { CallArguments } from "./call-arguments.tsx";
import { callWords } from "./call-words.ts";
import { CardDetails } from "./card-details.tsx";
import { isUndecided } from "./card-states.ts";
import { CardHeader } from "./card-header.tsx";
import { CardNote } from "./card-note.tsx";
import { CardOutcome } from "./card-outcome.tsx";
import { type CardClassNames, CardParts, type CardSlots, Slot, useCard } from "./card-parts.tsx";
import { Countdown } from "./countdown.tsx";
import { DecisionButtons } from "./decision-buttons.tsx";
import { LongValue } from "./long-value.tsx";
import { createLooks } from "./looks.ts";
import { ReasonBox } from "./reason-box.tsx";
import { ResolutionButtons } from "./resolution-buttons.tsx";
import { useBeforePaint } from "./use-before-paint.ts";
import { useAnnouncements } from "./use-announcements.ts";
import { LooksContext } from "./use-mark.ts";
import { VisibleText } from "./visible-text.tsx";

/** How cards look, in all components that have some. */
export interface CardLookProps extends LanguageProps {
  /** Class names by `data-part`. */
  classNames?: CardClassNames | undefined;
  /** Components for places of the card. Each gets what the card would show as `children`. */
  slots?: CardSlots | undefined;
  /** The level of the card's heading. */
  headingLevel?: 2 | 3 | 4 | 5 | 6 | undefined;
  /** How far the server's clock is ahead of the browser's, in milliseconds. */
  clockOffset?: number | undefined;
}

/** The call to show, and how its card looks. */
export interface ApprovalCardProps extends CardLookProps {
  /** The chat of the part, as `useAgentChat` returns it. */
  chat: { approvals: ChatApprovals };
  /** Any part of a message. A part without an approval draws nothing. */
  part: { type: string };
}

/**
 * One call that a person decides about: what exactly would run, and its state as the server reports it. Draws nothing for a
 * part whose approval the chat does not know.
 */
export function ApprovalCard({ chat, part, ...look }: ApprovalCardProps) {
  const { approval } = part as { approval?: { id: string } };
  const info = approval && chat.approvals.get(approval.id);
  return info ? <InfoCard key={info.approvalId} info={info} approvals={chat.approvals} {...look} /> : null;
}

export interface InfoCardProps extends CardLookProps {
  info: ApprovalInfo;
  approvals: ChatApprovals;
}

const nothing = {};

/** The card of an approval that is known. It is drawn again only if something of it has changed: a page can have many. */
export const InfoCard = memo(function InfoCard({
  info,
  approvals,
  language,
  labels,
  classNames = nothing,
  slots = nothing,
  ...rest
}: InfoCardProps) {
  const parts = useMemo(() => ({ info, classNames, slots }), [info, classNames, slots]);
  return (
    <ApprovalLanguage language={language} labels={labels}>
      <CardParts value={parts}>
        <Card info={info} approvals={approvals} {...rest} />
      </CardParts>
    </ApprovalLanguage>
  );
}, isSame);

/** With each change of any approval there is another object of all of them, with the same functions. */
function isSame(before: InfoCardProps, now: InfoCardProps): boolean {
  const { answer } = now.approvals;
  const names = Object.keys({ ...before, ...now }) as (keyof InfoCardProps)[];
  return names.every((name) => (name === "approvals" ? before[name].answer === answer : before[name] === now[name]));
}

function Card({
  info,
  approvals,
  headingLevel = 3,
  clockOffset = 0,
}: Pick<InfoCardProps, "info" | "approvals" | "headingLevel" | "clockOffset">) {
  const { labels, language, part } = useCard();
  const card = useRef<HTMLElement>(null);
  const { approvalId, state, expiresAt, card: texts = {} } = info;
  const title = textIn(texts.title ?? info.toolName, language);
  const words = callWords(info.input, texts.fields, language);
  const name = words || title;
  const wordsAfter = words && ` ${words}`;
  const [looks] = useState(createLooks);
  const [reason, setReason] = useState("");
  const [problem, setProblem] = useState<string>();
  const isAnswering = useRef(false);
  useAnnouncements(info, title + wordsAfter, clockOffset);

  const isFocusInside = card.current?.contains(document.activeElement) ?? false;
  // Buttons and forms disappear with their state, also while a person uses them. The keyboard focus stays on the card.
  useBeforePaint(() => {
    isAnswering.current = false;
    if (isFocusInside && !card.current?.contains(document.activeElement)) card.current?.focus();
  }, [state]);

  const answer = async (approved: boolean) => {
    // Clicks that come before the card leaves this state.
    if (isAnswering.current) return;
    isAnswering.current = true;
    const given = reason.trim();
    // In the state that comes now the card has no draft of a reason.
    setReason("");
    setProblem(undefined);
    card.current?.focus({ preventScroll: true });
    try {
      await approvals.answer(approvalId, given === "" ? { approved } : { approved, reason: given });
    } catch (error) {
      // If the answer was kept, the state says so. If the question is open again, the person can say it again.
      setProblem(error instanceof Error ? error.message : "");
      setReason(given);
      isAnswering.current = false;
    }
  };
  const countdown = expiresAt !== undefined && <Countdown expiresAt={expiresAt} clockOffset={clockOffset} />;
  return (
    <article
      ref={card}
      {...part("card")}
      aria-label={labels.cardOf(title) + wordsAfter}
      tabIndex={-1}
      data-state={state}
      data-approval-id={approvalId}
      data-tone={isUndecided(info) ? texts.tone : undefined}
    >
      <CardHeader info={info} title={texts.title && title} level={headingLevel} />
      {isUndecided(info) && <Hint info={info} />}
      <Slot name="note">
        <CardNote info={info} />
      </Slot>
      <LooksContext.Provider value={state === "asked" ? looks : undefined}>
        <Slot name="arguments">
          <CallArguments input={info.input} fields={texts.fields} />
        </Slot>
      </LooksContext.Provider>
      <Slot name="outcome">
        <CardOutcome info={info} />
      </Slot>
      <Slot name="actions">
        {state === "asked" && (
          <DecisionButtons
            words={words}
            name={name}
            looks={looks}
            onAnswer={(approved) => void answer(approved)}
            countdown={countdown}
          >
            <ReasonBox label={labels.reason} hint={labels.reasonHint} text={reason} onText={setReason} />
          </DecisionButtons>
        )}
        {state === "asked" && problem !== undefined && (
          <p {...part("problem")} role="alert">
            {labels.states.unsent}. <VisibleText text={problem} />
          </p>
        )}
        {(state === "unsent" || (state === "sending" && countdown)) && (
          <div {...part("actions")}>
            {state === "unsent" && (
              <button
                type="button"
                {...part("retry")}
                aria-label={`${labels.retry}: ${info.answer?.approved === false ? labels.deny : labels.approve} ${name}`}
                onClick={() => approvals.retry(approvalId)}
              >
                {labels.retry}
              </button>
            )}
            {countdown}
          </div>
        )}
        {state === "unknown" && (
          <ResolutionButtons
            onResolve={(resolution: ApprovalResolution) => approvals.resolve(approvalId, resolution)}
          />
        )}
      </Slot>
      {!isUndecided(info) && reason.trim() !== "" && (
        <p {...part("draft")}>
          {labels.unsentReason} <VisibleText text={reason} />
        </p>
      )}
      <Slot name="details">
        <CardDetails info={info} />
      </Slot>
    </article>
  );
}

/**
 * The sentence of the policy. Without one, the hint of the tool: it may be wrong or a lie, so it is marked as the
 * assistant's and kept apart from the arguments.
 */
function Hint({ info: { card, hint } }: { info: ApprovalInfo }): ReactNode {
  const { labels, language, part } = useCard();
  const isPolicy = card?.hint !== undefined;
  const text = textIn(card?.hint ?? hint ?? "", language);
  if (text === "") return null;
  const [before, after] = isPolicy ? [] : labels.assistantSays;
  return (
    <Slot name="hint">
      <div {...part("hint")} data-from={isPolicy ? "policy" : "assistant"}>
        {before}
        <LongValue text={text} label={labels.hint} />
        {after}
      </div>
    </Slot>
  );
}
