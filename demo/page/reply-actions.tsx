import { isToolUIPart, type UIMessage } from "ai";
import { useState } from "react";
import { ActionIcon } from "./action-icon.tsx";
import { CopyButton } from "./copy-button.tsx";
import { messageText, withdrawsMore } from "./message-text.ts";
import { useWords } from "./preferences.ts";
import { isSecondClick } from "./second-click.ts";
import type { ShownChat } from "./shown-chat.ts";

/** Copy a reply, or have it made again. The person is asked first if that withdraws more than this reply. */
export function ReplyActions({ message, chat }: { message: UIMessage; chat: ShownChat }) {
  const { t } = useWords();
  const [asks, setAsks] = useState(false);
  const { again, isBusy: busy } = chat;
  const text = messageText(message);
  if (!again || (busy && message.id === chat.messages.at(-1)?.id)) return null;
  const waits = (each: UIMessage) =>
    each.parts.some(
      (part) => isToolUIPart(part) && part.approval && chat.approvals.get(part.approval.id)?.state === "asked",
    );
  const make = () => {
    setAsks(false);
    again(message.id);
    // The reply with the focus disappears.
    document.querySelector<HTMLElement>(".messages")?.focus();
  };
  return (
    <>
      <span className="message-actions">
        <button
          type="button"
          className="message-action"
          aria-label={t.chats.again}
          title={t.chats.again}
          aria-disabled={busy}
          onClick={(event) => {
            if (busy || isSecondClick(event)) return;
            if (withdrawsMore(chat.messages, message.id, waits)) setAsks(true);
            else make();
          }}
        >
          <ActionIcon name="again" />
        </button>
        {text !== "" && <CopyButton text={text} />}
      </span>
      {asks && (
        <div className="withdraws" role="group" aria-label={t.chats.again}>
          <p>{t.chats.againWarning}</p>
          <div className="chat-confirm-buttons">
            <button type="button" className="button button-small" ref={focusOnce} onClick={() => setAsks(false)}>
              {t.chats.cancel}
            </button>
            <button
              type="button"
              className="button button-small button-primary"
              disabled={busy}
              onClick={(event) => !isSecondClick(event) && make()}
            >
              {t.chats.againNow}
            </button>
          </div>
        </div>
      )}
    </>
  );
}

function focusOnce(button: HTMLButtonElement | null): void {
  button?.focus();
}
