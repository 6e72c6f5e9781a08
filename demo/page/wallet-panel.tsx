import { VisibleText } from "adk-stream-protocol/react";
import type { Wallet } from "./api.ts";
import { resetWallet } from "./debug-api.ts";
import { clockTime, money } from "./format.ts";
import { useWords } from "./preferences.ts";

/** The balance and the payments, as the server has them. */
export function WalletPanel({ wallet, onReset }: { wallet: Wallet | undefined; onReset: () => void }) {
  const { t, language } = useWords();
  return (
    <section aria-labelledby="wallet-title">
      <div className="stream-head">
        <h2 id="wallet-title">{t.wallet}</h2>
        {wallet !== undefined && wallet.payments.length > 0 && (
          <button
            type="button"
            className="link-button"
            onClick={() => void resetWallet().then(onReset, () => undefined)}
          >
            {t.panel.resetWallet}
          </button>
        )}
      </div>
      <p className="balance" data-testid="balance" aria-label={t.balance}>
        {wallet ? money(wallet.balance, wallet.currency, language) : <span className="skeleton skeleton-balance" />}
      </p>
      {wallet?.payments.length === 0 && <p className="muted small">{t.noPayments}</p>}
      {wallet !== undefined && wallet.payments.length > 0 && (
        <ul className="payments" aria-label={t.payments}>
          {wallet.payments
            .toSorted((a, b) => b.at - a.at)
            .map((payment) => (
              <li key={payment.id}>
                <span className="payment-to">
                  <VisibleText text={payment.recipient} />
                  <span className="muted small"> {clockTime(payment.at, language)}</span>
                </span>
                <span className="payment-sum">
                  −{money(payment.amount, payment.currency, language) ?? `${payment.amount} ${payment.currency}`}
                </span>
              </li>
            ))}
        </ul>
      )}
    </section>
  );
}
