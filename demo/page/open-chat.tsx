import type { ConnectionState } from "adk-stream-protocol/client";
import { useEffect } from "react";
import { Conversation, type ConversationProps } from "./conversation.tsx";
import { useWords } from "./preferences.ts";
import { usePageChat } from "./use-page-chat.ts";

/** What the header shows of the open chat. */
export interface Line {
  /** A reply is being received. */
  isBusy: boolean;
  connection: ConnectionState | undefined;
}

/** Opens a chat, and shows it when its messages have been read. */
export function OpenChat({ onLine, ...props }: Omit<ConversationProps, "chat"> & { onLine: (line: Line) => void }) {
  const chat = usePageChat(props);
  const { isBusy, connection } = chat;
  useEffect(() => onLine({ isBusy, connection }), [isBusy, connection, onLine]);
  return chat.isLoaded ? (
    <Conversation chat={chat} {...props} />
  ) : (
    <Loading failed={chat.problem !== undefined} onRetry={chat.refresh} />
  );
}

function Loading({ failed, onRetry }: { failed: boolean; onRetry: () => void }) {
  const { t } = useWords();
  return (
    <main data-view="chat">
      <div className="chat">
        <div className="messages">
          <div className="column" aria-busy={!failed}>
            {failed ? (
              <div className="notice notice-error" role="alert">
                <p>{t.loadFailed}</p>
                <button type="button" className="button button-small" onClick={onRetry}>
                  {t.retry}
                </button>
              </div>
            ) : (
              <>
                <p className="visually-hidden" role="status">
                  {t.loading}
                </p>
                <div className="skeleton skeleton-me" />
                <div className="skeleton skeleton-line" />
                <div className="skeleton skeleton-card" />
              </>
            )}
          </div>
        </div>
      </div>
      <aside aria-label={t.panelLabel} />
    </main>
  );
}
