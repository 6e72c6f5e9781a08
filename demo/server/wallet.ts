import { randomBytes } from "node:crypto";

/** The balance before the first payment. */
export const openingCents = 1000 * 100;

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

export interface WalletState {
  balance: number;
  currency: "USD";
  payments: Payment[];
}

/**
 * The money of the demo. A payment is a row with a unique key, so a second attempt at the same call finds the row of the
 * first. Tests count these rows to know how often the tool ran.
 */
export interface Wallet {
  /**
   * Pays, or returns the payment that was already made with this key. Throws a sentence if it cannot pay. While the database
   * is away it is not known whether a payment was made, so it tries again until the signal ends it.
   */
  pay(key: string, order: PaymentOrder, signal?: AbortSignal): Promise<Receipt>;
  read(): Promise<WalletState>;
  /** Fills the wallet again and empties its list. A call that was paid stays paid: its key still finds its payment. */
  reset(): Promise<void>;
  close(): Promise<void>;
}

/** The amount of an order in cents. Throws a sentence if the order cannot be paid. */
export function centsOf({ amount, recipient, currency }: PaymentOrder): number {
  if (!Number.isFinite(amount) || amount <= 0) throw new Error(`An amount must be more than 0; it is ${amount}.`);
  const cents = Math.round(amount * 100);
  if (Math.abs(amount * 100 - cents) > 1e-6 || cents === 0)
    throw new Error(`${amount} is not a whole number of cents.`);
  if (recipient.trim() === "") throw new Error("A payment needs a recipient.");
  if (currency !== "USD") throw new Error(`The wallet holds USD; it cannot pay in ${currency}.`);
  return cents;
}

/** A payment from its row. */
export function toPayment(row: Record<string, unknown>): Payment {
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

/** The ids of a new payment. */
export function newPaymentIds(): { id: string; transaction: string } {
  return { id: randomBytes(8).toString("hex"), transaction: `txn_${randomBytes(6).toString("hex")}` };
}

/** The wallet holds less than the amount. */
export function tooMuch(cents: number, balance: number): Error {
  return new Error(`The wallet holds ${dollars(balance)} USD; ${dollars(cents)} USD is more than that.`);
}

function dollars(cents: number): string {
  return (cents / 100).toFixed(2);
}
