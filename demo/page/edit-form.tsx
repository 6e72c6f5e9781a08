import { useEffect, useId, useRef } from "react";
import { useWords } from "./preferences.ts";
import { isSecondClick } from "./second-click.ts";
import type { Edit } from "./use-edit.ts";

/** A message of the person as a form, with what sending it means for the messages after it. */
export function EditForm({ edit, fileCount, busy }: { edit: Edit; fileCount: number; busy: boolean }) {
  const { t } = useWords();
  const field = useRef<HTMLTextAreaElement>(null);
  const warningId = useId();
  const draft = edit.draft ?? "";
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
        if (!busy) edit.submit();
      }}
    >
      <textarea
        ref={field}
        className="input"
        rows={2}
        aria-label={t.chats.editLabel}
        aria-describedby={warningId}
        value={draft}
        onChange={(event) => edit.change(event.target.value)}
        onKeyDown={(event) => {
          if (event.nativeEvent.isComposing || event.keyCode === 229) return;
          if (event.key === "Escape") {
            event.preventDefault();
            edit.cancel();
          }
          if (event.key !== "Enter" || event.shiftKey) return;
          event.preventDefault();
          if (!busy) edit.submit();
        }}
      />
      <p id={warningId} className="withdraws-note">
        {t.chats.editWarning}
        {fileCount > 0 && ` ${t.chats.editKeepsFiles(fileCount)}`}
      </p>
      <div className="chat-confirm-buttons">
        <button type="button" className="button button-small" onClick={edit.cancel}>
          {t.chats.cancel}
        </button>
        <button
          type="submit"
          className="button button-small button-primary"
          disabled={busy || draft.trim() === ""}
          onClick={(event) => isSecondClick(event) && event.preventDefault()}
        >
          {t.chats.editSend}
        </button>
      </div>
    </form>
  );
}
