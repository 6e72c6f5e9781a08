import type { PostgresDatabase } from "./postgres-database.ts";
import type { LedgerBatch } from "./postgres-ledger-write.ts";
import { text } from "./postgres-rows.ts";

/**
 * The chats, except those of `known`, whose changes are in the database, for a batch whose connection was lost. The hashes
 * say whose entries the audit has. Another node may have made the same change in the same millisecond, with the same hash:
 * then the row has another owner of the lease, or another key of the decision.
 */
export async function findWritten(
  db: PostgresDatabase,
  { audit, updates }: LedgerBatch,
  known: ReadonlySet<string>,
): Promise<string[]> {
  const entries = audit.filter(({ chat }) => !known.has(chat));
  const found = await db.query(
    `SELECT DISTINCT chat FROM audit JOIN unnest($1::text[], $2::bigint[], $3::text[]) AS mine (chat, sequence, hash)
     USING (chat, sequence, hash)`,
    [
      entries.map(({ chat }) => chat),
      entries.map(({ entry }) => entry.sequence),
      entries.map(({ entry }) => entry.hash),
    ],
  );
  const rows = [...updates.values()].map(({ row }) => row);
  const others = await db.query(
    `SELECT DISTINCT approval.chat FROM approval
       JOIN unnest($1::text[], $2::text[], $3::text[]) AS mine (id, lease_owner, decision_key) USING (id)
     WHERE approval.lease_owner IS DISTINCT FROM mine.lease_owner AND mine.lease_owner IS NOT NULL
        OR approval.decision_key IS DISTINCT FROM mine.decision_key AND mine.decision_key IS NOT NULL`,
    [
      rows.map(({ id }) => id),
      rows.map(({ leaseOwner }) => leaseOwner ?? null),
      rows.map(({ decisionKey }) => decisionKey ?? null),
    ],
  );
  const notMine = new Set(others.map((row) => text(row["chat"])));
  return found.map((row) => text(row["chat"])).filter((chat) => !notMine.has(chat));
}
