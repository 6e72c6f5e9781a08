import { useEffect, useState } from "react";
import { ActionIcon } from "./action-icon.tsx";
import { useWords } from "./preferences.ts";

const shownMs = 2000;

/** Copies the words of a message, and says so for a moment. */
export function CopyButton({ text }: { text: string }) {
  const { t } = useWords();
  const [copied, setCopied] = useState<"yes" | "no">();
  useEffect(() => {
    if (!copied) return undefined;
    const timer = setTimeout(() => setCopied(undefined), shownMs);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied("yes");
    } catch {
      setCopied("no");
    }
  };
  return (
    <>
      <button
        type="button"
        className="message-action"
        aria-label={t.chats.copy}
        title={t.chats.copy}
        onClick={() => void copy()}
      >
        <ActionIcon name={copied === "yes" ? "done" : "copy"} />
      </button>
      <span className={copied === "no" ? "message-note" : "visually-hidden"} role="status">
        {copied && (copied === "yes" ? t.chats.copied : t.chats.notCopied)}
      </span>
    </>
  );
}
