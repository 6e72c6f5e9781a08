import { useEffect, useRef, type ReactNode } from "react";
import { useWords } from "./preferences.ts";

export interface ChatSideProps {
  /** Whether there is room for the list beside the conversation. */
  isWide: boolean;
  isOpen: boolean;
  onClose: () => void;
  children: ReactNode;
}

/** The place of the list of chats: beside the conversation, or a drawer over it if there is no room. */
export function ChatSide({ isWide, isOpen, onClose, children }: ChatSideProps) {
  const { t } = useWords();
  if (!isOpen) return null;
  if (!isWide) return <Drawer onClose={onClose}>{children}</Drawer>;
  return (
    <nav className="chat-side" aria-label={t.chats.title}>
      <h2 className="chat-side-title">{t.chats.title}</h2>
      {children}
    </nav>
  );
}

function Drawer({ onClose, children }: Pick<ChatSideProps, "onClose" | "children">) {
  const { t } = useWords();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} className="chat-drawer" aria-label={t.chats.title} onClose={onClose} closedby="any">
      <div className="chat-drawer-head">
        <h2>{t.chats.title}</h2>
        <button
          type="button"
          className="icon-button"
          aria-label={t.chats.close}
          onClick={() => dialog.current?.close()}
        >
          <span aria-hidden="true">✕</span>
        </button>
      </div>
      {children}
    </dialog>
  );
}
