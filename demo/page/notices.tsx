import { errorSentence, isDisconnect } from "./error-sentence.ts";
import { useWords } from "./preferences.ts";
import type { BridgeChat } from "./use-bridge-chat.ts";

/** Shows one error at a time. If an answer was lost, its card says so and this shows nothing. */
export function Notices({ bridge }: { bridge: BridgeChat }) {
  const { t } = useWords();
  const { error, ledger } = bridge;
  const lost = isDisconnect(error);
  const onCard = [...bridge.cards.values()].some((card) => card.state === "unsent");
  if (ledger.signedOut) {
    return (
      <div className="notice notice-error" role="alert">
        <p>{t.signedOut}</p>
      </div>
    );
  }
  if (ledger.offline && !onCard) {
    return (
      <div className="notice notice-offline" role="alert">
        <span className="spinner" aria-hidden="true" />
        <p>{t.offline}</p>
      </div>
    );
  }
  if (ledger.deleted && bridge.messages.length === 0) {
    return (
      <div className="notice notice-offline" role="status">
        <p>{t.deleted}</p>
      </div>
    );
  }
  if (!error || (lost && onCard && bridge.messages.at(-1)?.role !== "user")) return null;
  return (
    <div className="notice notice-error" role="alert">
      <div>
        <p className="notice-title">{t.errorTitle}</p>
        <p className="outside">{lost ? t.connectionLost : errorSentence(error, t)}</p>
      </div>
      <div className="notice-actions">
        <button type="button" className="button button-small" onClick={bridge.retry}>
          {t.retry}
        </button>
        <button type="button" className="button button-small button-quiet" onClick={bridge.dismiss}>
          {t.dismiss}
        </button>
      </div>
    </div>
  );
}
