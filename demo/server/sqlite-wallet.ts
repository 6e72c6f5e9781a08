import { DatabaseSync } from "node:sqlite";
import { centsOf, newPaymentIds, openingCents, tooMuch, toPayment, type Wallet } from "./wallet.ts";

/** Opens the wallet in a SQLite file. */
export function openSqliteWallet(path: string, now: () => number = Date.now): Wallet {
  const db = new DatabaseSync(path);
  db.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA busy_timeout = 5000;
    CREATE TABLE IF NOT EXISTS payments (
      id TEXT PRIMARY KEY,
      key TEXT NOT NULL UNIQUE,
      cents INTEGER NOT NULL CHECK (cents > 0),
      recipient TEXT NOT NULL,
      currency TEXT NOT NULL,
      description TEXT NOT NULL,
      at INTEGER NOT NULL,
      transaction_id TEXT NOT NULL
    ) STRICT;
  `);
  const columns = db.prepare("SELECT name FROM pragma_table_info('payments')").all();
  if (!columns.some(({ name }) => name === "archived"))
    db.exec("ALTER TABLE payments ADD COLUMN archived INTEGER NOT NULL DEFAULT 0");
  const byKey = db.prepare("SELECT * FROM payments WHERE key = ?");
  const all = db.prepare("SELECT * FROM payments WHERE archived = 0 ORDER BY at, rowid");
  const spent = db.prepare("SELECT COALESCE(SUM(cents), 0) AS cents FROM payments WHERE archived = 0");
  const insert = db.prepare(
    "INSERT INTO payments (id, key, cents, recipient, currency, description, at, transaction_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
  );
  const archive = db.prepare("UPDATE payments SET archived = 1");
  const balanceInCents = () => openingCents - Number(spent.get()?.["cents"]);

  return {
    async pay(key, order) {
      const cents = centsOf(order);
      db.exec("BEGIN IMMEDIATE");
      try {
        const earlier = byKey.get(key);
        if (!earlier) {
          const balance = balanceInCents();
          if (cents > balance) throw tooMuch(cents, balance);
          const { id, transaction } = newPaymentIds();
          insert.run(id, key, cents, order.recipient, order.currency, order.description, now(), transaction);
        }
        const row = earlier ?? byKey.get(key);
        const balance = balanceInCents();
        db.exec("COMMIT");
        return { ...toPayment(row ?? {}), wallet_balance: balance / 100 };
      } catch (error) {
        db.exec("ROLLBACK");
        throw error;
      }
    },
    read: async () => ({ balance: balanceInCents() / 100, currency: "USD", payments: all.all().map(toPayment) }),
    reset: async () => void archive.run(),
    close: async () => db.close(),
  };
}
