import { useEffect, useId, useRef, useState } from "react";
import { type ChatSummary, deleteChat, exportAddress, renameChat } from "./chats-api.ts";
import { errorSentence } from "./error-sentence.ts";
import { pointInTime } from "./format.ts";
import { useWords } from "./preferences.ts";
import { isSecondClick } from "./second-click.ts";

export interface ChatRowProps {
  chat: ChatSummary;
  isCurrent: boolean;
  /** The address that opens the chat, also in a new tab. */
  address: string;
  onOpen: () => void;
  onDeleted: () => void;
  /** The list has to be read again. */
  onChanged: () => void;
}

type Step = "closed" | "actions" | "rename" | "delete";

/** One chat of the list, and what can be done with it: open, rename in place, download, delete. */
export function ChatRow({ chat, isCurrent, address, onOpen, onDeleted, onChanged }: ChatRowProps) {
  const { t, language } = useWords();
  const words = t.chats;
  const [step, setStep] = useState<Step>("closed");
  const [error, setError] = useState<string>();
  const toggle = useRef<HTMLButtonElement>(null);
  const actionsId = useId();
  const title = chat.title || words.untitled;

  const close = () => {
    setStep("closed");
    setError(undefined);
  };
  const attempt = (work: Promise<void>, then: () => void) => {
    setError(undefined);
    work.then(then, (failure: Error) => setError(errorSentence(failure, t)));
  };
  const row = useRef<HTMLLIElement>(null);
  const isOpen = step !== "closed";
  useEffect(() => {
    const element = row.current;
    if (!element || !isOpen) return undefined;
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.isComposing) return;
      // Escape closes this step only, neither the drawer nor a reply.
      event.preventDefault();
      event.stopPropagation();
      setStep("closed");
      setError(undefined);
    };
    element.addEventListener("keydown", onKeyDown);
    return () => element.removeEventListener("keydown", onKeyDown);
  }, [isOpen]);
  // The element with the focus disappears with the step, so the focus returns to the button that opened it.
  const wasOpen = useRef(false);
  useEffect(() => {
    if (wasOpen.current && !isOpen) toggle.current?.focus();
    wasOpen.current = isOpen;
  }, [isOpen]);

  return (
    <li className={isCurrent ? "chat-row chat-row-current" : "chat-row"} data-chat-id={chat.id} ref={row}>
      {step === "rename" ? (
        <RenameForm
          title={chat.title}
          onCancel={close}
          onSave={(next) =>
            attempt(renameChat(chat.id, next), () => {
              close();
              onChanged();
            })
          }
        />
      ) : (
        <div className="chat-row-line">
          <a
            href={address}
            className="chat-link"
            aria-current={isCurrent ? "page" : undefined}
            onClick={(event) => {
              // With a key held down the browser opens another tab or window.
              if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
              event.preventDefault();
              onOpen();
            }}
          >
            <bdi className="chat-title">{title}</bdi>
            <span className="chat-facts">
              <time dateTime={new Date(chat.updatedAt).toISOString()}>{pointInTime(chat.updatedAt, language)}</time>
              {chat.pending > 0 && <span className="chat-waits">{words.waits(chat.pending)}</span>}
            </span>
          </a>
          <button
            ref={toggle}
            type="button"
            className="icon-button chat-more"
            aria-label={words.actions(title)}
            aria-expanded={step !== "closed"}
            aria-controls={step === "closed" ? undefined : actionsId}
            onClick={() => (step === "closed" ? setStep("actions") : close())}
          >
            <span aria-hidden="true">⋯</span>
          </button>
        </div>
      )}
      {step === "actions" && (
        <div className="chat-actions" id={actionsId}>
          <button type="button" className="link-button" onClick={() => setStep("rename")}>
            {words.rename}
          </button>
          <a className="link-button" href={exportAddress(chat.id)} download>
            {words.download}
          </a>
          <button type="button" className="link-button chat-delete" onClick={() => setStep("delete")}>
            {words.delete}
          </button>
        </div>
      )}
      {step === "delete" && (
        <div className="chat-confirm" id={actionsId} role="group" aria-label={words.deleteQuestion}>
          <p>
            <strong>{words.deleteQuestion}</strong> {words.deleteText}
          </p>
          <div className="chat-confirm-buttons">
            <button
              type="button"
              className="button button-small button-danger"
              onClick={(event) => !isSecondClick(event) && attempt(deleteChat(chat.id), onDeleted)}
            >
              {words.delete}
            </button>
            {/* The focus is on the button that changes nothing. */}
            <button type="button" className="button button-small" ref={focusOnce} onClick={close}>
              {words.cancel}
            </button>
          </div>
        </div>
      )}
      {error !== undefined && (
        <p className="chat-error" role="alert">
          {error}
        </p>
      )}
    </li>
  );
}

interface RenameFormProps {
  title: string;
  onSave: (title: string) => void;
  onCancel: () => void;
}

const maxTitleLength = 120;

function RenameForm({ title, onSave, onCancel }: RenameFormProps) {
  const { t } = useWords();
  const [text, setText] = useState(title);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    field.current?.focus();
    field.current?.select();
  }, []);
  return (
    <form
      className="chat-rename"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() === "" || text.trim() === title) onCancel();
        else onSave(text.trim());
      }}
    >
      <input
        ref={field}
        className="input"
        aria-label={t.chats.renameLabel}
        value={text}
        maxLength={maxTitleLength}
        onChange={(event) => setText(event.target.value)}
      />
      <div className="chat-confirm-buttons">
        <button type="submit" className="button button-small button-primary">
          {t.chats.save}
        </button>
        <button type="button" className="button button-small" onClick={onCancel}>
          {t.chats.cancel}
        </button>
      </div>
    </form>
  );
}

function focusOnce(button: HTMLButtonElement | null): void {
  button?.focus();
}
