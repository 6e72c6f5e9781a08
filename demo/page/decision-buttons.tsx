import { useRef, useState } from "react";
import { Countdown } from "./countdown.tsx";
import { useWords } from "./preferences.ts";
import { ReasonForm } from "./reason-form.tsx";
import type { useLooks } from "./use-looks.ts";
import { useMeantClicks } from "./use-meant-clicks.ts";

export interface DecisionButtonsProps {
  /** The words that name the call, so that a person reads on the button what it does. */
  words: string;
  looks: ReturnType<typeof useLooks>;
  /** The reason as the person has typed it so far. */
  reason: string;
  onReason: (reason: string) => void;
  onAnswer: (approved: boolean, reason?: string) => void;
  createdAt: number | undefined;
  expiresAt: number | undefined;
  clockOffset: number;
}

/** Approve and Deny with an optional reason, and the time left. Approve waits until the whole call was on the screen. */
export function DecisionButtons(props: DecisionButtonsProps) {
  const { words, reason, onReason, onAnswer } = props;
  const { looks, isCut } = props.looks;
  const { t } = useWords();
  const [denying, setDenying] = useState(false);
  const { isTooSoon, ifMeant } = useMeantClicks();
  const denyButton = useRef<HTMLButtonElement>(null);
  const close = () => {
    setDenying(false);
    // When the form is gone, move the focus back to the button that opened it.
    requestAnimationFrame(() => denyButton.current?.focus());
  };
  const approve = () => {
    if (looks.isAllSeen()) onAnswer(true);
    else looks.showNext();
  };

  return (
    <>
      {denying && (
        <ReasonForm
          label={t.card.reasonLabel}
          hint={t.card.reasonHint}
          placeholder={t.reasonPlaceholder}
          submitLabel={t.denyNow}
          submitName={t.card.named(t.denyNow, words)}
          submitClass="button-danger"
          text={reason}
          onText={onReason}
          ifMeant={ifMeant}
          onSubmit={(text) => onAnswer(false, text)}
          onBack={close}
        />
      )}
      {isCut && !denying && (
        <p className="card-unseen">
          {t.card.unseen}{" "}
          <button type="button" className="show-all" onClick={() => looks.showNext()}>
            {t.card.showRest}
          </button>
        </p>
      )}
      <div className="card-actions">
        {!denying && (
          <>
            <button
              type="button"
              className="button button-deny"
              ref={denyButton}
              aria-label={t.card.named(t.deny, words)}
              aria-disabled={isTooSoon}
              onClick={ifMeant(() => setDenying(true))}
            >
              {t.deny}
            </button>
            <button
              type="button"
              className="button button-primary button-approve"
              aria-disabled={isTooSoon || isCut}
              data-cut={isCut}
              onClick={ifMeant(approve)}
            >
              {`${t.approve} `}
              {words !== "" && <span className="button-call">{words}</span>}
            </button>
          </>
        )}
        {props.expiresAt !== undefined && (
          <Countdown createdAt={props.createdAt} expiresAt={props.expiresAt} clockOffset={props.clockOffset} />
        )}
      </div>
    </>
  );
}
