import { useId, type FormEvent, type KeyboardEvent, type MouseEvent } from "react";
import { useWords } from "./preferences.ts";

export interface ReasonFormProps {
  label: string;
  /** What becomes of the text. */
  hint?: string;
  placeholder: string;
  submitLabel: string;
  /** The name of the button for screen readers, if it says more than its label. */
  submitName?: string;
  submitClass: string;
  /** The server has not replied yet. */
  isSending?: boolean;
  /** What the person has typed so far. The card keeps it, because the form can disappear at any time. */
  text: string;
  onText: (text: string) => void;
  ifMeant: (act: () => void) => (event: MouseEvent) => void;
  onSubmit: (text: string) => void;
  onBack: () => void;
}

/** One line of optional text that goes with an answer. Enter sends it, Escape goes back. */
export function ReasonForm(props: ReasonFormProps) {
  const { label, hint, placeholder, submitLabel, submitClass, isSending = false, text, ifMeant, onSubmit } = props;
  const { t } = useWords();
  const id = useId();
  const hintId = useId();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!isSending) onSubmit(text.trim());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing || event.keyCode === 229) {
      // Enter that ends a Japanese conversion does not submit the form.
      if (event.key === "Enter") event.preventDefault();
      return;
    }
    // The Enter that opened the form may still be held down.
    if (event.key === "Enter" && event.repeat) event.preventDefault();
    if (event.key !== "Escape") return;
    // This Escape does not stop the reply as well.
    event.preventDefault();
    props.onBack();
  };
  return (
    <form className="deny" onSubmit={submit}>
      <label htmlFor={id}>{label}</label>
      {hint !== undefined && (
        <span className="deny-hint" id={hintId}>
          {hint}
        </span>
      )}
      <div className="deny-row">
        <input
          id={id}
          className="input"
          value={text}
          maxLength={2000}
          placeholder={placeholder}
          aria-describedby={hint === undefined ? undefined : hintId}
          autoComplete="off"
          ref={focusOnce}
          onChange={(event) => props.onText(event.target.value)}
          onKeyDown={onKeyDown}
        />
        <button
          type="submit"
          className={`button ${submitClass}`}
          aria-label={props.submitName}
          aria-disabled={isSending}
          onClick={ifMeant(() => undefined)}
        >
          {submitLabel}
        </button>
        <button type="button" className="button button-quiet" onClick={ifMeant(props.onBack)}>
          {t.back}
        </button>
      </div>
    </form>
  );
}

const focusOnce = (input: HTMLInputElement | null) => input?.focus();
