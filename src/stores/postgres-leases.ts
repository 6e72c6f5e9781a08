import { BridgeError } from "../protocol/index.ts";
import type { ChatLease, LeaseStore } from "./lease-store.ts";
import { NotOwner } from "./lease-store.ts";
import { type PostgresDatabase, sqlNow, type Statements } from "./postgres-database.ts";
import { type Row, text } from "./postgres-rows.ts";

/** A chat that this node has. */
export interface HeldChat {
  fence: number;
  /** By the database's clock. */
  until: number;
  /** The last number of its log, which only this node raises. */
  lastSequence: number;
  appName: string;
  /** Which lease of this node it is. */
  taken: number;
}

export interface PostgresLeases extends Pick<
  LeaseStore,
  "node" | "holdChat" | "leaseOf" | "renewChats" | "releaseChats"
> {
  held: Map<string, HeldChat>;
  /**
   * A number that rises with every lease that this node takes. What was asked for at an earlier moment belongs to no later
   * lease: another node may have had the chat meanwhile.
   */
  moment(): number;
  /**
   * The fence of a chat that this node has had since before a moment, for SQL. Zero, which no lease has, for any other chat.
   */
  fenceOf(chat: string, moment: number): number;
  /**
   * Why a write that was asked for at a moment, and checked the fence, changed nothing: throws `not_found` or
   * {@link NotOwner}; else returns the chat's row. A transaction asks over its own connection.
   */
  explain(chat: string, moment: number, query?: Statements["query"]): Promise<Row>;
  /** Gives all chats back. */
  releaseAll(): Promise<void>;
}

const holdSql = `
WITH clock AS MATERIALIZED (SELECT ${sqlNow(4)} AS now), taken AS (
  UPDATE session SET lease_node = $2, lease_until = clock.now + $3::bigint,
    lease_fence = CASE WHEN lease_node = $2 THEN lease_fence ELSE lease_fence + 1 END
  FROM clock
  WHERE id = $1 AND chat = id AND NOT deleted
    AND (lease_node IS NULL OR lease_node = $2 OR lease_until <= clock.now)
  RETURNING lease_node, lease_fence, lease_until, last_sequence, app_name)
SELECT * FROM taken
UNION ALL
SELECT lease_node, lease_fence, lease_until, last_sequence, app_name FROM session
WHERE id = $1 AND chat = id AND NOT deleted AND NOT EXISTS (SELECT 1 FROM taken)`;

/** The chats of these that this node has, locked in the order in which every statement locks chats. */
const mineSql = `
WITH held AS (SELECT * FROM unnest($1::text[], $2::bigint[]) AS h (id, fence)),
mine AS MATERIALIZED (
  SELECT session.id FROM session JOIN held USING (id)
  WHERE lease_node = $3 AND lease_fence = fence AND NOT deleted
  ORDER BY session.id FOR UPDATE OF session)`;

const renewSql = `${mineSql}
UPDATE session SET lease_until = ${sqlNow(4)} + $5::bigint
FROM mine WHERE session.id = mine.id
RETURNING session.id, lease_until`;

const leaseSql = `
SELECT lease_node, lease_fence, lease_until FROM session
WHERE id = $1 AND NOT deleted AND lease_node IS NOT NULL AND lease_until > ${sqlNow(2)}`;

const releaseSql = `${mineSql}
UPDATE session SET lease_node = NULL, lease_until = 0
FROM mine WHERE session.id = mine.id`;

const releaseAllSql = `
WITH mine AS MATERIALIZED (SELECT id FROM session WHERE lease_node = $1 ORDER BY id FOR UPDATE)
UPDATE session SET lease_node = NULL, lease_until = 0
FROM mine WHERE session.id = mine.id`;

/** The columns of `session` about leases. */
export function postgresLeases(db: PostgresDatabase, node: string): PostgresLeases {
  const held = new Map<string, HeldChat>();
  let taken = 0;

  const hold = async (chat: string, leaseMs: number): Promise<ChatLease> => {
    for (;;) {
      const known = held.get(chat);
      const [row] = await db.query(holdSql, [chat, node, leaseMs, db.time()]);
      if (!row) {
        held.delete(chat);
        throw new BridgeError("not_found", `There is no chat ${chat}.`);
      }
      const lease = {
        node: String(row["lease_node"]),
        fence: Number(row["lease_fence"]),
        until: Number(row["lease_until"]),
      };
      if (lease.node !== node) {
        held.delete(chat);
        // Another node has taken or given back the chat between the two parts of the statement.
        if (row["lease_node"] === null || lease.until <= db.now()) continue;
        return lease;
      }
      // Also new if the reply to an earlier attempt was lost: this node does not know yet that it has the chat.
      if (known?.fence === lease.fence && held.get(chat) === known) {
        // The same object, because an append that is under way will raise its last number.
        known.until = lease.until;
        return lease;
      }
      const { fence, until } = lease;
      taken += 1;
      const lastSequence = Number(row["last_sequence"]);
      held.set(chat, { fence, until, lastSequence, appName: text(row["app_name"]), taken });
      return { ...lease, isNew: true };
    }
  };

  return {
    node,
    held,
    moment: () => taken,

    fenceOf(chat, moment) {
      const known = held.get(chat);
      return known && known.taken <= moment ? known.fence : 0;
    },

    async holdChat(chat, leaseMs) {
      db.keepWithin(leaseMs);
      const known = held.get(chat);
      // `renewChats` keeps leases long. If the chat was lost in spite of it, its fence keeps this node from writing.
      if (known && known.until - db.now() > leaseMs / 2) return { node, fence: known.fence, until: known.until };
      return hold(chat, leaseMs);
    },

    async leaseOf(chat) {
      const [row] = await db.query(leaseSql, [chat, db.time()]);
      if (!row) return undefined;
      return {
        node: String(row["lease_node"]),
        fence: Number(row["lease_fence"]),
        until: Number(row["lease_until"]),
      };
    },

    async renewChats(leaseMs, { appName } = {}) {
      db.keepWithin(leaseMs);
      if (held.size === 0) return [];
      const before = new Map([...held].filter(([, chat]) => appName === undefined || chat.appName === appName));
      const [ids, fences] = [[...before.keys()], [...before.values()].map(({ fence }) => fence)];
      const rows = await db.query(renewSql, [ids, fences, node, db.time(), leaseMs]);
      const renewed = new Map(rows.map((row) => [String(row["id"]), Number(row["lease_until"])]));
      for (const [chat, until] of renewed) {
        const known = held.get(chat);
        if (known) known.until = Math.max(known.until, until);
      }
      // Only those with the same fence: meanwhile this node may have given a chat back, or taken it again.
      const lost = ids.filter((chat) => !renewed.has(chat) && held.get(chat)?.fence === before.get(chat)?.fence);
      for (const chat of lost) held.delete(chat);
      if (lost.length === 0) return [];
      const there = await db.query("SELECT id FROM session WHERE id = ANY($1::text[]) AND NOT deleted", [lost]);
      return there.map((row) => String(row["id"]));
    },

    async releaseChats(chats) {
      const mine = chats.flatMap((chat) => {
        const known = held.get(chat);
        return known ? [{ chat, fence: known.fence }] : [];
      });
      if (mine.length === 0) return;
      for (const { chat } of mine) held.delete(chat);
      await db.query(releaseSql, [mine.map(({ chat }) => chat), mine.map(({ fence }) => fence), node]);
    },

    async explain(chat, moment, query = db.query) {
      const [row] = await query(
        "SELECT lease_node, lease_fence, last_sequence FROM session WHERE id = $1 AND chat = id AND NOT deleted",
        [chat],
      );
      if (!row) {
        held.delete(chat);
        throw new BridgeError("not_found", `There is no chat ${chat}.`);
      }
      const known = held.get(chat);
      if (row["lease_node"] !== node || Number(row["lease_fence"]) !== known?.fence) held.delete(chat);
      else if (known.taken <= moment) return row;
      throw new NotOwner(chat);
    },

    async releaseAll() {
      held.clear();
      await db.query(releaseAllSql, [node]);
    },
  };
}
