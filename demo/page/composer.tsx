import { useCallback, useId, useLayoutEffect, useRef, useState, type KeyboardEvent } from "react";
import type { Mode } from "./mode.ts";
import { useWords } from "./preferences.ts";
import { isSecondClick } from "./second-click.ts";

export interface ComposerProps {
  busy: boolean;
  /** The last reply ended with an error, and something has to be said about that first. */
  failed: boolean;
  /** An answer or a browser tool's result is on its way; what waits goes after it. */
  answering: boolean;
  /** The approvals that wait for this person. */
  pending: readonly string[];
  mode: Mode;
  onSend: (text: string) => void;
  onStop: () => void;
}

/**
 * Enter sends, Shift+Enter breaks the line, and Enter that ends a Japanese conversion does neither. What is sent while a
 * reply still comes goes when that has ended. It stays when the reply fails, or asks something that this would withdraw
 * unseen.
 */
export function Composer({ busy, failed, answering, pending, mode, onSend, onStop }: ComposerProps) {
  const { t } = useWords();
  const [draft, setDraft] = useState("");
  /** What waited for an answer when Enter was pressed too early. */
  const [held, setHeld] = useState<readonly string[]>();
  const field = useRef<HTMLTextAreaElement>(null);
  const hintId = useId();
  const text = draft.trim();

  const post = useCallback(() => {
    setHeld(undefined);
    setDraft("");
    onSend(text);
  }, [text, onSend]);
  const send = () => {
    if (!text) return;
    // Whoever insists on going before an answer or a tool may: a browser may wait for ever to be told where it is.
    if (busy || (answering && !held)) setHeld(pending);
    else post();
    field.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape" && held) setHeld(undefined);
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    send();
  };
  // Before anybody can press Send: between the end of the reply and an effect there would be time to send it twice.
  useLayoutEffect(() => {
    if (!held || busy || answering) return;
    const unseen = mode === "sse" && pending.some((id) => !held.includes(id));
    if (failed || unseen) setHeld(undefined);
    else post();
  }, [held, busy, answering, failed, mode, pending, post]);
  const hint = held ? t.heldBack : mode === "bidi" ? t.keepsPending : t.cancelsPending;
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
            setDraft(event.target.value);
          }}
          onKeyDown={onKeyDown}
        />
        {/* Two buttons in one place: a click that began on one is none on the other. */}
        {busy ? (
          <button
            key="stop"
            type="button"
            className="button"
            onClick={(event) => {
              if (isSecondClick(event)) return;
              onStop();
              // The button goes away; whoever pressed it with a key wants to go on from somewhere.
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
