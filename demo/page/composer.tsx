import type { FileUIPart } from "ai";
import {
  useCallback,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
  type KeyboardEvent,
  type RefObject,
} from "react";
import { ActionIcon } from "./action-icon.tsx";
import { AttachmentList } from "./attachment-list.tsx";
import { acceptedTypes, maxFiles, maxTotalBytes } from "./attachments.ts";
import { byteSize } from "./byte-size.ts";
import type { Mode } from "./mode.ts";
import { useWords } from "./preferences.ts";
import { isSecondClick } from "./second-click.ts";
import type { Attachments } from "./use-attachments.ts";

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
  attachments: Attachments;
  onSend: (text: string, files: FileUIPart[]) => void;
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
  const { busy, failed, answering, pending, mode, draft, onDraft, field, attachments, onSend, onStop, onLeave } = props;
  const { t, language } = useWords();
  /** Set while a message waits: the approvals that were pending when the person pressed Enter. */
  const [held, setHeld] = useState<readonly string[]>();
  const hintId = useId();
  const text = draft.trim();
  const { files, isReading, add, clear } = attachments;
  const isEmpty = text === "" && files.length === 0;
  const picker = useRef<HTMLInputElement>(null);

  const post = useCallback(() => {
    setHeld(undefined);
    onDraft("");
    clear();
    onSend(
      text,
      files.map(({ name, mediaType, url }) => ({ type: "file", filename: name, mediaType, url })),
    );
  }, [text, files, clear, onDraft, onSend]);
  const send = () => {
    if (isEmpty || isReading) return;
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
  const hinted = !isEmpty && (held !== undefined || pending.length > 0);

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
      <AttachmentList attachments={attachments} />
      <div className="composer-box">
        <input
          ref={picker}
          type="file"
          hidden
          multiple
          accept={acceptedTypes}
          data-testid="attach-files"
          onChange={(event) => {
            setHeld(undefined);
            add([...(event.target.files ?? [])]);
            // The same file can be chosen again.
            event.target.value = "";
            field.current?.focus();
          }}
        />
        <button
          type="button"
          className="icon-button attach-button"
          aria-label={t.chats.attach}
          title={t.chats.attachTitle(maxFiles, byteSize(maxTotalBytes, language))}
          onClick={() => picker.current?.click()}
        >
          <ActionIcon name="attach" />
        </button>
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
          onPaste={(event) => {
            const pasted = [...event.clipboardData.files];
            // Office programs paste a picture beside the text. The text is meant.
            if (pasted.length === 0 || event.clipboardData.types.includes("text/plain")) return;
            event.preventDefault();
            setHeld(undefined);
            add(pasted);
          }}
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
            disabled={isEmpty || isReading}
            onClick={(event) => isSecondClick(event) && event.preventDefault()}
          >
            {t.send}
          </button>
        )}
      </div>
    </form>
  );
}
