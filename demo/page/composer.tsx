import { useId, useRef, useState, type KeyboardEvent } from "react";
import type { Mode } from "./mode.ts";
import { useWords } from "./preferences.ts";

export interface ComposerProps {
  busy: boolean;
  pending: boolean;
  mode: Mode;
  onSend: (text: string) => void;
  onStop: () => void;
}

/** Enter sends, Shift+Enter breaks the line, and Enter that ends a Japanese conversion does neither. */
export function Composer({ busy, pending, mode, onSend, onStop }: ComposerProps) {
  const { t } = useWords();
  const [draft, setDraft] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  const hintId = useId();
  const text = draft.trim();

  const send = () => {
    if (!text || busy) return;
    onSend(text);
    setDraft("");
    field.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    send();
  };

  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      {pending && text && (
        <p className={`composer-hint composer-hint-${mode}`} id={hintId}>
          {mode === "bidi" ? t.keepsPending : t.cancelsPending}
        </p>
      )}
      <div className="composer-box">
        <textarea
          ref={field}
          rows={1}
          value={draft}
          aria-label={t.composerLabel}
          aria-describedby={pending && text ? hintId : undefined}
          placeholder={t.composerPlaceholder}
          onChange={(event) => setDraft(event.target.value)}
          onKeyDown={onKeyDown}
        />
        {busy ? (
          <button type="button" className="button" onClick={onStop}>
            <span className="stop-square" aria-hidden="true" />
            {t.stop}
          </button>
        ) : (
          <button type="submit" className="button button-primary" disabled={!text}>
            {t.send}
          </button>
        )}
      </div>
    </form>
  );
}
