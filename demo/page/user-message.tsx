import type { UIMessage } from "ai";
import { useEffect, useRef, useState } from "react";
import { ActionIcon } from "./action-icon.tsx";
import { CopyButton } from "./copy-button.tsx";
import { EditForm } from "./edit-form.tsx";
import { FileView } from "./file-view.tsx";
import { messageText } from "./message-text.ts";
import { useWords } from "./preferences.ts";
import type { ShownChat } from "./shown-chat.ts";
import { UnsentNote } from "./unsent-note.tsx";

export interface UserMessageProps {
  message: UIMessage;
  chat: ShownChat;
  /** Only for a message that was not sent. */
  onSend?: () => void;
  onRemove?: () => void;
}

export function UserMessage({ message, chat, onSend, onRemove }: UserMessageProps) {
  const { t } = useWords();
  const { edit, isBusy } = chat;
  const text = messageText(message);
  /** The words in the form; undefined while no form is open. */
  const [draft, setDraft] = useState<string>();
  const isOpen = draft !== undefined;
  const opener = useRef<HTMLButtonElement>(null);
  const wasOpen = useRef(false);
  // The form with the focus disappears, so the focus returns to the button that opened it.
  useEffect(() => {
    if (wasOpen.current && !isOpen) opener.current?.focus({ preventScroll: true });
    wasOpen.current = isOpen;
  }, [isOpen]);
  if (draft !== undefined)
    return (
      <EditForm
        draft={draft}
        fileCount={message.parts.filter(({ type }) => type === "file").length}
        isBusy={isBusy}
        onDraft={setDraft}
        onCancel={() => setDraft(undefined)}
        onSubmit={() => {
          const words = draft.trim();
          if (words === "") return;
          setDraft(undefined);
          edit?.(message.id, words);
        }}
      />
    );
  return (
    <>
      <div className="me-row">
        {edit && !onSend && (
          <span className="message-actions">
            <button
              ref={opener}
              type="button"
              className="message-action"
              aria-label={t.chats.edit}
              title={t.chats.edit}
              aria-disabled={isBusy}
              onClick={() => !isBusy && setDraft(text)}
            >
              <ActionIcon name="edit" />
            </button>
            {text !== "" && <CopyButton text={text} />}
          </span>
        )}
        <div className={onSend ? "me me-unsent" : "me"} data-role="user" data-unsent={onSend !== undefined}>
          <span className="visually-hidden">{t.you}: </span>
          {message.parts.map((part, index) => {
            if (part.type === "text" && part.text !== "")
              return (
                <span key={index} className="outside">
                  {part.text}
                </span>
              );
            return part.type === "file" ? <FileView key={index} part={part} /> : null;
          })}
        </div>
      </div>
      {onSend && <UnsentNote onSend={onSend} onRemove={onRemove} />}
    </>
  );
}
