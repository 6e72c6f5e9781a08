import { useId, useState } from "react";
import { hasShortcuts, rememberShortcuts, useWords } from "./preferences.ts";

/** The keys of the page, in a window of its own. Closes with Escape. */
export function ShortcutSheet({ onClose }: { onClose: () => void }) {
  const { t } = useWords();
  const titleId = useId();
  const [isOn, setOn] = useState(hasShortcuts);
  return (
    <dialog className="sheet" aria-labelledby={titleId} ref={openOnce} onClose={onClose}>
      <h2 id={titleId}>{t.shortcuts.title}</h2>
      <dl>
        {t.shortcuts.keys.map(([key, meaning]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <label className="sheet-choice">
        <input
          type="checkbox"
          checked={isOn}
          onChange={(event) => {
            setOn(event.target.checked);
            rememberShortcuts(event.target.checked);
          }}
        />
        {t.shortcuts.on}
      </label>
      <form method="dialog">
        <button type="submit" className="button button-small">
          {t.shortcuts.close}
        </button>
      </form>
    </dialog>
  );
}

function openOnce(dialog: HTMLDialogElement | null): void {
  if (dialog && !dialog.open) dialog.showModal();
}
