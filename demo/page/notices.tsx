import { errorSentence, isDisconnect } from "./error-sentence.ts";
import { failureOf } from "./failure-of.ts";
import { useWords } from "./preferences.ts";
import type { PageChat } from "./use-page-chat.ts";

/** Shows one error at a time. Why a reply ended early is shown with the reply. */
export function Notices({ chat }: { chat: PageChat }) {
  const { t } = useWords();
  const { error, ledger } = chat;
  if (ledger.signedOut) {
    return (
      <div className="notice notice-error" role="alert">
        <p>{t.signedOut}</p>
      </div>
    );
  }
  if (ledger.offline) {
    return (
      <div className="notice notice-offline" role="alert">
        <span className="spinner" aria-hidden="true" />
        <p>{t.offline}</p>
      </div>
    );
  }
  if (ledger.deleted && chat.messages.length === 0) {
    return (
      <div className="notice notice-offline" role="status">
        <p>{t.deleted}</p>
      </div>
    );
  }
  const last = chat.messages.at(-1);
  // Whether the connection is back is found out with the ledger.
  const problem = chat.problem === undefined || /network/.test(chat.problem) ? undefined : new Error(chat.problem);
  const shown = error ?? problem;
  if (!shown || (last && failureOf(last) !== undefined)) return null;
  return (
    <div className="notice notice-error" role="alert">
      <div>
        <p className="notice-title">{t.errorTitle}</p>
        <p className="outside">{isDisconnect(shown) ? t.connectionLost : errorSentence(shown, t)}</p>
      </div>
      <div className="notice-actions">
        <button type="button" className="button button-small" onClick={chat.retry}>
          {t.retry}
        </button>
        {error && (
          <button type="button" className="button button-small button-quiet" onClick={chat.dismiss}>
            {t.dismiss}
          </button>
        )}
      </div>
    </div>
  );
}
