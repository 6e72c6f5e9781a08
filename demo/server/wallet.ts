import { randomBytes } from "node:crypto";
import { DatabaseSync } from "node:sqlite";

/** The balance before the first payment, in dollars. */
const openingBalance = 1000;

/** A payment to make. */
export interface PaymentOrder {
  amount: number;
  recipient: string;
  currency: string;
  description: string;
}

/** A payment that was made. */
export interface Payment extends PaymentOrder {
  id: string;
  at: number;
  transaction_id: string;
}

/** A payment with the balance after it, as the tool reports it. */
export interface Receipt extends Payment {
  wallet_balance: number;
}

/**
 * The money of the demo. A payment is a row with a unique key, so a second attempt at the same call finds the row of the
 * first. Tests count these rows to know how often the tool ran.
 */
export interface Wallet {
  /** Pays, or returns the payment that was already made with this key. Throws a sentence if it cannot pay. */
  pay(key: string, order: PaymentOrder): Receipt;
  read(): { balance: number; currency: "USD"; payments: Payment[] };
  /** Fills the wallet again and empties its list. A call that was paid stays paid: its key still finds its payment. */
  reset(): void;
  close(): void;
}

/** Opens the wallet in a SQLite file. */
export function openWallet(path: string, now: () => number = Date.now): Wallet {
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
  const balanceInCents = () => openingBalance * 100 - Number(spent.get()?.["cents"]);

  return {
    pay(key, order) {
      const cents = centsOf(order);
      db.exec("BEGIN IMMEDIATE");
      try {
        const earlier = byKey.get(key);
        if (!earlier) {
          const balance = balanceInCents();
          if (cents > balance) {
            throw new Error(`The wallet holds ${dollars(balance)} USD; ${dollars(cents)} USD is more than that.`);
          }
          const id = randomBytes(8).toString("hex");
          const transaction = `txn_${randomBytes(6).toString("hex")}`;
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
    read: () => ({ balance: balanceInCents() / 100, currency: "USD", payments: all.all().map(toPayment) }),
    reset: () => void archive.run(),
    close: () => db.close(),
  };
}

function centsOf({ amount, recipient, currency }: PaymentOrder): number {
  if (!Number.isFinite(amount) || amount <= 0) throw new Error(`An amount must be more than 0; it is ${amount}.`);
  const cents = Math.round(amount * 100);
  if (Math.abs(amount * 100 - cents) > 1e-6 || cents === 0)
    throw new Error(`${amount} is not a whole number of cents.`);
  if (recipient.trim() === "") throw new Error("A payment needs a recipient.");
  if (currency !== "USD") throw new Error(`The wallet holds USD; it cannot pay in ${currency}.`);
  return cents;
}

function toPayment(row: Record<string, unknown>): Payment {
  return {
    id: String(row["id"]),
    amount: Number(row["cents"]) / 100,
    recipient: String(row["recipient"]),
    currency: String(row["currency"]),
    description: String(row["description"]),
    at: Number(row["at"]),
    transaction_id: String(row["transaction_id"]),
  };
}

function dollars(cents: number): string {
  return (cents / 100).toFixed(2);
}
