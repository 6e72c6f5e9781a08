import { useEffect, useId, useRef } from "react";
import { useWords } from "./preferences.ts";
import { isSecondClick } from "./second-click.ts";

export interface EditFormProps {
  draft: string;
  fileCount: number;
  isBusy: boolean;
  onDraft: (draft: string) => void;
  onCancel: () => void;
  onSubmit: () => void;
}

/** A message of the person as a form, with what sending it means for the messages after it. */
export function EditForm({ draft, fileCount, isBusy, onDraft, onCancel, onSubmit }: EditFormProps) {
  const { t } = useWords();
  const field = useRef<HTMLTextAreaElement>(null);
  const warningId = useId();
  useEffect(() => {
    const element = field.current;
    element?.focus();
    element?.setSelectionRange(element.value.length, element.value.length);
  }, []);
  return (
    <form
      className="edit-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isBusy) onSubmit();
      }}
    >
      <textarea
        ref={field}
        className="input"
        rows={2}
        aria-label={t.chats.editLabel}
        aria-describedby={warningId}
        value={draft}
        onChange={(event) => onDraft(event.target.value)}
        onKeyDown={(event) => {
          if (event.nativeEvent.isComposing || event.keyCode === 229) return;
          if (event.key === "Escape") {
            event.preventDefault();
            onCancel();
          }
          if (event.key !== "Enter" || event.shiftKey) return;
          event.preventDefault();
          if (!isBusy) onSubmit();
        }}
      />
      <p id={warningId} className="withdraws-note">
        {t.chats.editWarning}
        {fileCount > 0 && ` ${t.chats.editKeepsFiles(fileCount)}`}
      </p>
      <div className="chat-confirm-buttons">
        <button type="button" className="button button-small" onClick={onCancel}>
          {t.chats.cancel}
        </button>
        <button
          type="submit"
          className="button button-small button-primary"
          disabled={isBusy || draft.trim() === ""}
          onClick={(event) => isSecondClick(event) && event.preventDefault()}
        >
          {t.chats.editSend}
        </button>
      </div>
    </form>
  );
}
