import { BridgeError } from "../protocol/index.ts";
import { exactText } from "./apply-change.ts";
import { type PostgresDatabase, sqlNow, type Statements } from "./postgres-database.ts";
import { isRefusal, uniqueViolation } from "./postgres-errors.ts";
import type { PostgresLeases } from "./postgres-leases.ts";
import { parse } from "./postgres-rows.ts";
import { AlreadyResponded, type JsonObject, type NewEvent, type StoredEvent } from "./store.ts";

/** Adds an event with a new id and no change of state: one statement, which is a transaction by itself. */
const addSql = `
WITH fenced AS (
  SELECT id FROM session WHERE id = $1 AND NOT deleted AND lease_node = $2 AND lease_fence = $3 FOR UPDATE
), placed AS (
  UPDATE session SET last_position = last_position + 1, updated_at = ${sqlNow(4)} FROM fenced
  WHERE session.id = $5 AND session.chat = fenced.id AND NOT session.deleted
    AND NOT EXISTS (SELECT 1 FROM event WHERE session = $5 AND event.id = $6 AND NOT withdrawn)
  RETURNING last_position
), added AS (
  INSERT INTO event (session, position, id, event) SELECT $5, last_position, $6, $7 FROM placed
), answered AS (
  INSERT INTO response (session, call_id, position)
  SELECT $5, answer.call_id, last_position FROM placed, unnest($8::text[]) AS answer (call_id)
)
SELECT last_position FROM placed`;

export interface PostgresEvents {
  append(session: string, event: NewEvent): Promise<StoredEvent>;
  appendAll(session: string, events: readonly { id: string; event: JsonObject }[]): Promise<void>;
  withdraw(session: string, position: number): Promise<void>;
  /** Throws if this node may not write to the session. Locks the chat until the transaction ends. */
  fence(statements: Statements, session: string, moment: number): Promise<void>;
  /** Remembers which chat a session belongs to. */
  note(session: string, chat: string): void;
}

/** The tables `event` and `response`. */
export function postgresEvents(db: PostgresDatabase, leases: PostgresLeases): PostgresEvents {
  /** The chats of inner sessions. */
  const chats = new Map<string, string>();
  const note = (session: string, chat: string) => {
    if (session === chat) return;
    if (chats.size >= 10_000) chats.clear();
    chats.set(session, chat);
  };
  const chatOf = async (session: string): Promise<string> => {
    const known = leases.held.has(session) ? session : chats.get(session);
    if (known !== undefined) return known;
    const [row] = await db.query("SELECT chat FROM session WHERE id = $1 AND NOT deleted", [session]);
    if (!row) throw new BridgeError("not_found", `There is no session ${session}.`);
    note(session, String(row["chat"]));
    return String(row["chat"]);
  };

  const lock = async (statements: Statements, session: string, chat: string, moment: number) => {
    const [row] = await statements.query(
      "SELECT 1 FROM session WHERE id = $1 AND NOT deleted AND lease_node = $2 AND lease_fence = $3 FOR UPDATE",
      [chat, leases.node, leases.fenceOf(chat, moment)],
    );
    if (row) return;
    await leases.explain(chat, moment, statements.query).catch((error: unknown) => {
      if (error instanceof BridgeError && error.code === "not_found")
        throw new BridgeError("not_found", `There is no session ${session}.`);
      throw error;
    });
    throw new BridgeError("conflict", `Chat ${chat} changed at the same time.`);
  };

  /** Runs work on a session that this node may write to. */
  const fenced = async <T>(
    session: string,
    work: (statements: Statements) => Promise<T>,
    moment = leases.moment(),
  ): Promise<T> => {
    const chat = await chatOf(session);
    return db.transaction(async (statements) => {
      await lock(statements, session, chat, moment);
      return work(statements);
    });
  };

  return {
    note,

    async fence(statements, session, moment) {
      await lock(statements, session, await chatOf(session), moment);
    },

    async append(session, event) {
      const { id, responses, stateDelta } = event;
      const text = eventToText(event);
      const answered = [...new Set(responses)];
      const moment = leases.moment();
      try {
        if (Object.keys(stateDelta ?? {}).length === 0) {
          const chat = await chatOf(session);
          const values = [chat, leases.node, leases.fenceOf(chat, moment), db.time(), session, id, text, answered];
          // An event with this id takes the other way, also if it is the same one: the reply to it was lost.
          const [row] = await db.query(addSql, values);
          if (row) return toStoredEvent(Number(row["last_position"]), text);
        }
        return await fenced(session, (statements) => putEvent(statements, session, event, db.time()), moment);
      } catch (error) {
        throw await explainConflict(db, session, event, error);
      }
    },

    async appendAll(session, events) {
      const texts = events.map(({ id, event }) => [exactText(id, "An event's id"), JSON.stringify(event)] as const);
      await fenced(session, async ({ query }) => {
        const [row] = await query(
          "UPDATE session SET last_position = last_position + $2 WHERE id = $1 RETURNING last_position",
          [...[session, events.length]],
        );
        if (!row) throw new BridgeError("not_found", `There is no session ${session}.`);
        const first = Number(row["last_position"]) - events.length + 1;
        await query(
          `INSERT INTO event (session, position, id, event)
           SELECT $1, $2::bigint + number - 1, id, event
           FROM unnest($3::text[], $4::text[]) WITH ORDINALITY AS added (id, event, number)`,
          [session, first, texts.map(([id]) => id), texts.map(([, text]) => text)],
        );
      });
    },

    async withdraw(session, position) {
      await fenced(session, async ({ query }) => {
        await Promise.all([
          query("UPDATE event SET withdrawn = true WHERE session = $1 AND position >= $2", [session, position]),
          query("DELETE FROM response WHERE session = $1 AND position >= $2", [session, position]),
          query("UPDATE session SET revision = revision + 1 WHERE id = $1", [session]),
        ]);
      });
    },
  };
}

/** Appends an event, or replaces the one with its id. Call it inside a transaction that has locked the chat. */
export async function putEvent(
  { query }: Statements,
  session: string,
  event: NewEvent,
  time: number | null,
): Promise<StoredEvent> {
  const { id, responses, stateDelta } = event;
  const text = eventToText(event);
  const [row] = await query(
    `SELECT state, last_position, ${sqlNow(3)} AS now,
       (SELECT position FROM event WHERE session = $1 AND event.id = $2 AND NOT withdrawn) AS existing
     FROM session WHERE id = $1 AND NOT deleted FOR UPDATE`,
    [session, id, time],
  );
  if (!row) throw new BridgeError("not_found", `There is no session ${session}.`);
  const isNew = row["existing"] === null;
  const position = isNew ? Number(row["last_position"]) + 1 : Number(row["existing"]);
  // Through JSON first, which drops fields that are undefined: they must not replace existing ones.
  const state = { ...parse(row["state"]), ...JSON.parse(JSON.stringify(stateDelta ?? {})) };
  const put = isNew
    ? query("INSERT INTO event (session, position, id, event) VALUES ($1, $2, $3, $4)", [session, position, id, text])
    : query("UPDATE event SET event = $3 WHERE session = $1 AND position = $2", [session, position, text]);
  await Promise.all([
    put,
    query("DELETE FROM response WHERE session = $1 AND position = $2", [session, position]),
    query(
      "INSERT INTO response (session, call_id, position) SELECT $1, answer.id, $2 FROM unnest($3::text[]) AS answer (id)",
      [...[session, position, [...new Set(responses)]]],
    ),
    query(
      `UPDATE session SET state = $2, updated_at = $3, last_position = greatest(last_position, $4), revision = revision + $5
       WHERE id = $1`,
      [session, JSON.stringify(state), Number(row["now"]), position, isNew ? 0 : 1],
    ),
  ]);
  return toStoredEvent(position, text);
}

/** The error for a caller whose event was refused: which call has a response already. */
export async function explainConflict(
  db: PostgresDatabase,
  session: string,
  { responses }: NewEvent,
  error: unknown,
): Promise<unknown> {
  if (!isRefusal(error, uniqueViolation) || error.constraint !== "one_response_per_call") return error;
  const rows = await db.query("SELECT call_id FROM response WHERE session = $1 AND call_id = ANY($2::text[])", [
    ...[session, responses],
  ]);
  const answered = new Set(rows.map((row) => row["call_id"]));
  const callId = responses.find((id) => answered.has(id));
  return callId === undefined ? error : new AlreadyResponded(callId);
}

function eventToText({ id, event, responses }: NewEvent): string {
  for (const text of [id, ...responses]) exactText(text, "An event's id and its calls' ids");
  return JSON.stringify(event);
}

export function toStoredEvent(position: number, text: string): StoredEvent {
  return { position, event: JSON.parse(text) as JsonObject, size: text.length };
}
