import { useEffect, useId, useRef, useState, type FormEvent, type KeyboardEvent, type MouseEvent } from "react";
import { Countdown } from "./countdown.tsx";
import { useWords } from "./preferences.ts";
import { isSecondClick } from "./second-click.ts";

/**
 * A card can appear in the place where a person is about to click or press a key for something else. It accepts no answer
 * until the person has had time to see it.
 */
const tooSoonMs = 500;

/** Approve and Deny with an optional reason, and the time left. */
export function DecisionButtons(props: {
  onAnswer: (approved: boolean, reason?: string) => void;
  createdAt: number | undefined;
  expiresAt: number | undefined;
  clockOffset: number;
}) {
  const { t } = useWords();
  const [denying, setDenying] = useState(false);
  const [reason, setReason] = useState("");
  const [isTooSoon, setTooSoon] = useState(true);
  const denyButton = useRef<HTMLButtonElement>(null);
  const reasonId = useId();

  useEffect(() => {
    const timer = setTimeout(() => setTooSoon(false), tooSoonMs);
    return () => clearTimeout(timer);
  }, []);
  /** Ignores a click that was meant for something that was in this place before. */
  const ifMeant = (act: () => void) => (event: MouseEvent) => {
    if (isTooSoon || isSecondClick(event)) event.preventDefault();
    else act();
  };

  const close = () => {
    setDenying(false);
    // When the form is gone, move the focus back to the button that opened it.
    requestAnimationFrame(() => denyButton.current?.focus());
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    props.onAnswer(false, reason.trim());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing || event.keyCode === 229) {
      // Enter that ends a Japanese conversion does not submit the form.
      if (event.key === "Enter") event.preventDefault();
      return;
    }
    // The Enter that opened the form may still be held down.
    if (event.key === "Enter" && event.repeat) event.preventDefault();
    if (event.key === "Escape") close();
  };

  return (
    <>
      {denying && (
        <form className="deny" onSubmit={submit}>
          <label htmlFor={reasonId}>{t.reasonLabel}</label>
          <div className="deny-row">
            <input
              id={reasonId}
              className="input"
              value={reason}
              maxLength={2000}
              placeholder={t.reasonPlaceholder}
              autoComplete="off"
              ref={focusOnce}
              onChange={(event) => setReason(event.target.value)}
              onKeyDown={onKeyDown}
            />
            <button type="submit" className="button button-danger" onClick={ifMeant(() => undefined)}>
              {t.denyNow}
            </button>
            <button type="button" className="button button-quiet" onClick={ifMeant(close)}>
              {t.back}
            </button>
          </div>
        </form>
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

const focusOnce = (input: HTMLInputElement | null) => input?.focus();
