import type { UIMessage } from "ai";
import { useEffect, useRef } from "react";
import { ActionIcon } from "./action-icon.tsx";
import { CopyButton } from "./copy-button.tsx";
import { EditForm } from "./edit-form.tsx";
import { FileView } from "./file-view.tsx";
import { isBusy } from "./is-busy.ts";
import { messageText } from "./message-text.ts";
import { useWords } from "./preferences.ts";
import { UnsentNote } from "./unsent-note.tsx";
import type { BridgeChat } from "./use-bridge-chat.ts";
import { useEdit } from "./use-edit.ts";

export interface UserMessageProps {
  message: UIMessage;
  /** Without it the message cannot be edited. */
  bridge?: BridgeChat;
  /** Only for a message that was not sent. */
  onSend?: (() => void) | undefined;
  onRemove?: () => void;
}

export function UserMessage({ message, bridge, onSend, onRemove }: UserMessageProps) {
  const { t } = useWords();
  const edit = useEdit(message, bridge);
  const busy = bridge !== undefined && isBusy(bridge.status);
  const isOpen = edit.draft !== undefined;
  const opener = useRef<HTMLButtonElement>(null);
  const wasOpen = useRef(false);
  // The form with the focus disappears, so the focus returns to the button that opened it.
  useEffect(() => {
    if (wasOpen.current && !isOpen) opener.current?.focus({ preventScroll: true });
    wasOpen.current = isOpen;
  }, [isOpen]);
  const fileCount = message.parts.filter(({ type }) => type === "file").length;
  if (isOpen) return <EditForm edit={edit} fileCount={fileCount} busy={busy} />;
  const text = messageText(message);
  return (
    <>
      <div className="me-row">
        {bridge?.edit && !onSend && (
          <span className="message-actions">
            <button
              ref={opener}
              type="button"
              className="message-action"
              aria-label={t.chats.edit}
              title={t.chats.edit}
              aria-disabled={busy}
              onClick={() => !busy && edit.begin()}
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
