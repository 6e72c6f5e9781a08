import { useCallback, useEffect, useId, useLayoutEffect, useState, type KeyboardEvent, type RefObject } from "react";
import type { Mode } from "./mode.ts";
import { useWords } from "./preferences.ts";
import { isSecondClick } from "./second-click.ts";

export interface ComposerProps {
  busy: boolean;
  /** The last reply ended with an error, so a message that waits is not sent. */
  failed: boolean;
  /** An answer or a browser tool's result is being sent. A message that waits is sent after it. */
  answering: boolean;
  /** The ids of the approvals that wait for this person. */
  pending: readonly string[];
  mode: Mode;
  draft: string;
  onDraft: (draft: string) => void;
  field: RefObject<HTMLTextAreaElement | null>;
  onSend: (text: string) => void;
  onStop: () => void;
  /** The person leaves the field with Escape. */
  onLeave: () => void;
}

/**
 * Enter sends, Shift+Enter starts a new line, and Enter that ends a Japanese conversion does neither. A message that is
 * sent during a reply waits until the reply has ended. It stays in the field if the reply fails, or if the reply asks a
 * question that this message would cancel before the person has seen it. Escape keeps a message that waits in the field,
 * or else stops the reply, or else leaves the field.
 */
export function Composer(props: ComposerProps) {
  const { busy, failed, answering, pending, mode, draft, onDraft, field, onSend, onStop, onLeave } = props;
  const { t } = useWords();
  /** Set while a message waits: the approvals that were pending when the person pressed Enter. */
  const [held, setHeld] = useState<readonly string[]>();
  const hintId = useId();
  const text = draft.trim();

  const post = useCallback(() => {
    setHeld(undefined);
    onDraft("");
    onSend(text);
  }, [text, onDraft, onSend]);
  const send = () => {
    if (!text) return;
    // Pressing Send again does not wait for the answer or the tool, because a location request may never end.
    if (busy || (answering && !held)) setHeld(pending);
    else post();
    field.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing || event.keyCode === 229) return;
    if (event.key === "Escape") {
      event.preventDefault();
      if (held) setHeld(undefined);
      else if (busy) onStop();
      else onLeave();
    }
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    send();
  };
  // A layout effect, because before a normal effect there is time to press Send, and the message would be sent twice.
  useLayoutEffect(() => {
    if (!held || busy || answering) return;
    const unseen = mode === "sse" && pending.some((id) => !held.includes(id));
    if (failed || unseen) setHeld(undefined);
    else post();
  }, [held, busy, answering, failed, mode, pending, post]);
  // A keyboard on the screen would cover the conversation, so a phone does not get one before the person asks for it.
  useEffect(() => {
    if (document.activeElement === document.body && matchMedia("(pointer: fine)").matches)
      field.current?.focus({ preventScroll: true });
  }, [field]);
  const hint = held ? t.heldBack : mode === "bidi" ? t.keepsPending(pending.length) : t.cancelsPending(pending.length);
  const hinted = text !== "" && (held !== undefined || pending.length > 0);

  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      {hinted && (
        <p className={`composer-hint composer-hint-${held ? "held" : mode}`} id={hintId} role="status">
          {hint}
        </p>
      )}
      <div className="composer-box">
        <textarea
          ref={field}
          rows={1}
          value={draft}
          aria-label={t.composerLabel}
          aria-describedby={hinted ? hintId : undefined}
          placeholder={t.composerPlaceholder}
          onChange={(event) => {
            setHeld(undefined);
            onDraft(event.target.value);
          }}
          onKeyDown={onKeyDown}
        />
        {/* Two buttons in the same place. Their keys differ, so a click that begins on one does not count for the other. */}
        {busy ? (
          <button
            key="stop"
            type="button"
            className="button"
            onClick={(event) => {
              if (isSecondClick(event)) return;
              onStop();
              // The button disappears. If it was pressed with a key, the keyboard focus needs a new place.
              if (event.detail === 0) field.current?.focus();
            }}
          >
            <span className="stop-square" aria-hidden="true" />
            {t.stop}
          </button>
        ) : (
          <button
            key="send"
            type="submit"
            className="button button-primary"
            disabled={!text}
            onClick={(event) => isSecondClick(event) && event.preventDefault()}
          >
            {t.send}
          </button>
        )}
      </div>
    </form>
  );
}
