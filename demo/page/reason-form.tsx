import { useId, useState, type FormEvent, type KeyboardEvent, type MouseEvent } from "react";
import { useWords } from "./preferences.ts";

export interface ReasonFormProps {
  label: string;
  placeholder: string;
  submitLabel: string;
  submitClass: string;
  /** The server has not replied yet. */
  isSending?: boolean;
  ifMeant: (act: () => void) => (event: MouseEvent) => void;
  onSubmit: (text: string) => void;
  onBack: () => void;
}

/** One line of optional text that goes with an answer. Enter sends it, Escape goes back. */
export function ReasonForm(props: ReasonFormProps) {
  const { label, placeholder, submitLabel, submitClass, isSending = false, ifMeant, onSubmit, onBack } = props;
  const { t } = useWords();
  const [text, setText] = useState("");
  const id = useId();
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
    if (event.key === "Escape") onBack();
  };
  return (
    <form className="deny" onSubmit={submit}>
      <label htmlFor={id}>{label}</label>
      <div className="deny-row">
        <input
          id={id}
          className="input"
          value={text}
          maxLength={2000}
          placeholder={placeholder}
          autoComplete="off"
          ref={focusOnce}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
        />
        <button
          type="submit"
          className={`button ${submitClass}`}
          aria-disabled={isSending}
          onClick={ifMeant(() => undefined)}
        >
          {submitLabel}
        </button>
        <button type="button" className="button button-quiet" onClick={ifMeant(onBack)}>
          {t.back}
        </button>
      </div>
    </form>
  );
}

const focusOnce = (input: HTMLInputElement | null) => input?.focus();
