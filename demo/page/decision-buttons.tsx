import { useRef, useState } from "react";
import { Countdown } from "./countdown.tsx";
import { useWords } from "./preferences.ts";
import { ReasonForm } from "./reason-form.tsx";
import { useMeantClicks } from "./use-meant-clicks.ts";

/** Approve and Deny with an optional reason, and the time left. */
export function DecisionButtons(props: {
  onAnswer: (approved: boolean, reason?: string) => void;
  createdAt: number | undefined;
  expiresAt: number | undefined;
  clockOffset: number;
}) {
  const { t } = useWords();
  const [denying, setDenying] = useState(false);
  const { isTooSoon, ifMeant } = useMeantClicks();
  const denyButton = useRef<HTMLButtonElement>(null);
  const close = () => {
    setDenying(false);
    // When the form is gone, move the focus back to the button that opened it.
    requestAnimationFrame(() => denyButton.current?.focus());
  };

  return (
    <>
      {denying && (
        <ReasonForm
          label={t.reasonLabel}
          placeholder={t.reasonPlaceholder}
          submitLabel={t.denyNow}
          submitClass="button-danger"
          ifMeant={ifMeant}
          onSubmit={(reason) => props.onAnswer(false, reason)}
          onBack={close}
        />
      )}
      <div className="card-actions">
        {!denying && (
          <>
            <button
              type="button"
              className="button"
              ref={denyButton}
              aria-disabled={isTooSoon}
              onClick={ifMeant(() => setDenying(true))}
            >
              {t.deny}
            </button>
            <button
              type="button"
              className="button button-primary"
              aria-disabled={isTooSoon}
              onClick={ifMeant(() => props.onAnswer(true))}
            >
              {t.approve}
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
