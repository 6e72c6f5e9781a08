import { type DemoDatabase, nowSql, storable, untilReached } from "./demo-database.ts";
import { centsOf, newPaymentIds, openingCents, type Receipt, tooMuch, toPayment, type Wallet } from "./wallet.ts";

/**
 * One statement, so that a node that is paused holds no lock. Of two nodes that pay with the same key, the second waits for
 * the wallet's row and then fails at the unique key, which undoes its payment.
 */
const paySql = `
  WITH paid AS (
    UPDATE wallet SET cents = cents - $2::bigint
    WHERE cents >= $2::bigint AND NOT EXISTS (SELECT FROM payment WHERE key = $1)
    RETURNING cents, round
  )
  INSERT INTO payment (key, cents, id, transaction_id, recipient, currency, description, at, round)
  SELECT $1, $2::bigint, $3, $4, $5, $6, $7, ${nowSql}, round FROM paid
  RETURNING *, (SELECT cents FROM paid) AS balance`;

const uniqueViolation = "23505";

/** Opens the wallet in a PostgreSQL database. Several nodes may use it. */
export async function openPostgresWallet(db: DemoDatabase): Promise<Wallet> {
  await db.query("INSERT INTO wallet (cents) VALUES ($1) ON CONFLICT DO NOTHING", [openingCents]);

  const insert = async (values: unknown[]) => {
    try {
      return (await db.query(paySql, values))[0];
    } catch (error) {
      if ((error as { code?: unknown }).code === uniqueViolation) return undefined;
      throw error;
    }
  };
  const find = async (key: unknown) => {
    const sql = "SELECT payment.*, wallet.cents AS balance FROM wallet LEFT JOIN payment ON key = $1";
    return (await db.query(sql, [key]))[0] ?? {};
  };

  return {
    async pay(key, order, signal) {
      const cents = centsOf(order);
      const { id, transaction } = newPaymentIds();
      const texts = [order.recipient, order.currency, order.description].map(storable);
      const values = [key, Math.min(cents, Number.MAX_SAFE_INTEGER), id, transaction, ...texts];
      return untilReached(async () => {
        for (;;) {
          const row = (await insert(values)) ?? (await find(key));
          if (row["key"] !== null) return receiptOf(row);
          const balance = Number(row["balance"]);
          if (cents > balance) throw tooMuch(cents, balance);
          // The wallet was filled between the two statements.
        }
      }, signal);
    },
    async read() {
      const rows = await db.query(
        "SELECT wallet.cents AS balance, payment.* FROM wallet LEFT JOIN payment USING (round) ORDER BY number",
      );
      const payments = rows.filter(({ id }) => id !== null).map(toPayment);
      return { balance: Number(rows[0]?.["balance"]) / 100, currency: "USD", payments };
    },
    async reset() {
      await db.query("UPDATE wallet SET cents = $1, round = round + 1", [openingCents]);
    },
    // The database is closed by those who opened it.
    close: async () => undefined,
  };
}

function receiptOf(row: Record<string, unknown>): Receipt {
  return { ...toPayment(row), wallet_balance: Number(row["balance"]) / 100 };
}
