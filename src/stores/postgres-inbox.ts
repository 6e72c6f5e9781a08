import { BridgeError } from "../protocol/index.ts";
import type { LeaseStore, Posted } from "./lease-store.ts";
import { type PostgresDatabase, sqlNow } from "./postgres-database.ts";
import { isConnectionLost } from "./postgres-errors.ts";
import { parse, text } from "./postgres-rows.ts";
import type { PostgresSignals } from "./postgres-signals.ts";

type Inbox = Pick<
  LeaseStore,
  | "post"
  | "takePosted"
  | "answerPosted"
  | "readAnswer"
  | "takeBack"
  | "onPosted"
  | "notePresence"
  | "isPresentElsewhere"
>;

interface PostgresInbox extends Inbox {
  /** Calls the listeners. */
  notify(): void;
  /** Looks for requests and answers that no signal came for. */
  poll(): Promise<void>;
  /** Removes what no process waits for any more. */
  tidy(): Promise<void>;
}

/** How long a request that was not read back is kept. Its process is gone. */
const keepMs = 10 * 60_000;

const postSql = `
WITH there AS (SELECT id, lease_node FROM session WHERE id = $1 AND chat = id AND NOT deleted FOR SHARE),
added AS (
  INSERT INTO posted (id, chat, from_node, at, body) SELECT $2, id, $3, ${sqlNow(4)}, $5 FROM there
  ON CONFLICT (id) DO NOTHING)
SELECT lease_node FROM there`;

const takeSql = `
WITH mine AS (
  SELECT number FROM posted JOIN session ON session.id = posted.chat
  WHERE taken_by IS NULL AND session.lease_node = $1 AND NOT session.deleted
  ORDER BY number FOR UPDATE OF posted SKIP LOCKED),
taken AS (
  UPDATE posted SET taken_by = $1 FROM mine WHERE posted.number = mine.number RETURNING posted.number, id, chat, body)
SELECT number, id, chat, body FROM taken
UNION ALL
SELECT number, id, chat, body FROM posted WHERE taken_by = $1 AND answer IS NULL AND id <> ALL($2::text[])
ORDER BY number`;

/** The tables `posted` and `presence`. */
export function postgresInbox(db: PostgresDatabase, node: string, signals: () => PostgresSignals): PostgresInbox {
  const listeners = new Set<{ listener: () => void }>();
  /** Requests that this node took and has not answered. One that is taken in the table and not in here was not received. */
  const taken = new Set<string>();
  const notify = () => {
    for (const { listener } of [...listeners]) listener();
  };

  return {
    async post({ id, chat, body }) {
      const [row] = await db.query(postSql, [chat, id, node, db.time(), JSON.stringify(body)]);
      if (!row) throw new BridgeError("not_found", `There is no chat ${chat}.`);
      if (typeof row["lease_node"] === "string") signals().postedTo(row["lease_node"]);
    },

    async takePosted() {
      const rows = await db.query(takeSql, [node, [...taken]]);
      const requests = rows.map((row): Posted => ({
        id: text(row["id"]),
        chat: text(row["chat"]),
        body: parse(row["body"]),
      }));
      // Another call may have taken the same ones from the second half of the statement.
      const fresh = requests.filter(({ id }) => !taken.has(id));
      for (const { id } of fresh) taken.add(id);
      return fresh;
    },

    async answerPosted(id, answer) {
      const [row] = await db.query(
        "UPDATE posted SET answer = $3 WHERE id = $1 AND taken_by = $2 RETURNING from_node",
        [id, node, JSON.stringify(answer)],
      );
      taken.delete(id);
      if (row) signals().postedTo(String(row["from_node"]));
    },

    async readAnswer(id) {
      const values = [id, node];
      const [row] = await db.query("SELECT taken_by, answer FROM posted WHERE id = $1 AND from_node = $2", values);
      if (!row) return undefined;
      const takenBy = row["taken_by"] === null ? {} : { takenBy: text(row["taken_by"]) };
      if (row["answer"] === null) return takenBy;
      const removed = await db
        .query("DELETE FROM posted WHERE id = $1 AND from_node = $2", values, { once: true })
        .catch((error: unknown) => {
          // The answer is known. What is left of it is removed later.
          if (!isConnectionLost(error)) throw error;
          return [{}];
        });
      return removed.length > 0 ? { ...takenBy, answer: parse(row["answer"]) } : undefined;
    },

    async takeBack(id) {
      const take = () =>
        db.query("DELETE FROM posted WHERE id = $1 AND from_node = $2 AND taken_by IS NULL", [id, node], {
          once: true,
        });
      try {
        return (await take()).length > 0;
      } catch (error) {
        if (!isConnectionLost(error)) throw error;
        if ((await take()).length > 0) return true;
        // Only this node removes its requests, so one that is gone was removed by the first attempt.
        return (await db.query("SELECT 1 FROM posted WHERE id = $1", [id])).length === 0;
      }
    },

    onPosted(listener) {
      const each = { listener };
      listeners.add(each);
      signals().start();
      return () => void listeners.delete(each);
    },

    async notePresence(keys, ms) {
      if (keys.length === 0) return;
      await db.query(
        `INSERT INTO presence (key, node, until) SELECT DISTINCT key, $2, ${sqlNow(3)} + $4::bigint
         FROM unnest($1::text[]) AS used (key)
         ON CONFLICT (key, node) DO UPDATE SET until = excluded.until`,
        [keys, node, db.time(), ms],
      );
    },

    async isPresentElsewhere(key) {
      const rows = await db.query(
        `SELECT 1 FROM presence WHERE key = $1 AND node <> $2 AND until > ${sqlNow(3)} LIMIT 1`,
        [key, node, db.time()],
      );
      return rows.length > 0;
    },

    notify,

    async poll() {
      if (listeners.size === 0) return;
      const [row] = await db.query(
        `SELECT EXISTS (SELECT 1 FROM posted JOIN session ON session.id = posted.chat
             WHERE taken_by IS NULL AND session.lease_node = $1)
           OR EXISTS (SELECT 1 FROM posted WHERE from_node = $1 AND answer IS NOT NULL) AS news`,
        [node],
      );
      if (row?.["news"] === true) notify();
    },

    async tidy() {
      await db.query(`DELETE FROM posted WHERE at < ${sqlNow(1)} - $2::bigint`, [db.time(), keepMs]);
      await db.query(`DELETE FROM presence WHERE until < ${sqlNow(1)} - $2::bigint`, [db.time(), keepMs]);
    },
  };
}
