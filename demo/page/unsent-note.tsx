import { useWords } from "./preferences.ts";

/** Says under a message that it was not sent. */
export function UnsentNote({ onSend, onRemove }: { onSend: () => void; onRemove: (() => void) | undefined }) {
  const { t } = useWords();
  return (
    <p className="unsent">
      <span>{t.unsent.notSent}</span>
      <button type="button" onClick={onSend}>
        {t.unsent.again}
      </button>
      {onRemove && (
        <button type="button" onClick={onRemove}>
          {t.unsent.remove}
        </button>
      )}
    </p>
  );
}
