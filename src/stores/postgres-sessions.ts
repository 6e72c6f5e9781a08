import { BridgeError } from "../protocol/index.ts";
import { exactText } from "./apply-change.ts";
import { type PostgresDatabase, sqlNow } from "./postgres-database.ts";
import { postgresEvents, toStoredEvent } from "./postgres-events.ts";
import type { PostgresLeases } from "./postgres-leases.ts";
import { sharedCount } from "./postgres-counts.ts";
import { rowToSession, sessionColumns, text } from "./postgres-rows.ts";
import { refuseChatPast } from "./refuse-past.ts";
import type { ChatStore, Session, SessionStore } from "./store.ts";

interface PostgresSessionsOptions {
  db: PostgresDatabase;
  leases: PostgresLeases;
  newId: () => string;
}

/** The tables `session`, `event` and `response`. */
export function postgresSessions({
  db,
  leases,
  newId,
}: PostgresSessionsOptions): Omit<SessionStore, "deleteSession"> & Pick<ChatStore, "appendEvents"> {
  const events = postgresEvents(db, leases);
  const chats = sharedCount(async () => {
    const [row] = await db.query("SELECT count(*) AS n FROM session WHERE name IS NOT NULL AND NOT deleted");
    return Number(row?.["n"]);
  });

  const getSession = async (id: string): Promise<Session | undefined> => {
    const [row] = await db.query(`SELECT ${sessionColumns} FROM session WHERE id = $1 AND NOT deleted`, [id]);
    return row && rowToSession(row);
  };
  const findSql = `SELECT ${sessionColumns} FROM session WHERE owner = $1 AND name = $2 AND app_name = $3 AND NOT deleted`;
  const findChat = async (owner: string, name: string, appName: string): Promise<Session | undefined> => {
    const [row] = await db.query(findSql, [owner, name, appName]);
    return row && rowToSession(row);
  };

  return {
    async openChat({ owner, name, appName }, limits = {}) {
      for (const [field, value] of Object.entries({ owner, name, appName })) exactText(value, field);
      const found = await findChat(owner, name, appName);
      if (found) return found;
      const inAll = await chats.value(limits.chats);
      const id = newId();
      const { session, isNew } = await db.transaction(async ({ query }) => {
        // Two requests of one owner must not pass the limit together, nor open one chat twice.
        const locked = query("SELECT pg_advisory_xact_lock(hashtextextended($1, 1))", [owner]);
        const [, [other], [count]] = await Promise.all([
          locked,
          query(findSql, [owner, name, appName]),
          query("SELECT count(*) AS n FROM session WHERE owner = $1 AND name IS NOT NULL AND NOT deleted", [owner]),
        ]);
        if (other) return { session: rowToSession(other), isNew: false };
        refuseChatPast(limits, { ofOwner: () => Number(count?.["n"]), inAll: () => inAll });
        const [row] = await query(
          `INSERT INTO session (id, chat, owner, name, app_name, state, created_at, updated_at)
           SELECT $1, $1, $2, $3, $4, '{}', clock.now, clock.now FROM (SELECT ${sqlNow(5)} AS now) AS clock
           RETURNING ${sessionColumns}`,
          [id, owner, name, appName, db.time()],
        );
        if (!row) throw new Error(`The database added no row for chat ${id}.`);
        return { session: rowToSession(row), isNew: true };
      });
      if (isNew) chats.added();
      return session;
    },

    findChat,
    getSession,

    async openSession({ id, chat, appName, state = {} }) {
      for (const [field, value] of Object.entries({ id, appName })) exactText(value, field);
      const values = JSON.stringify(state);
      const moment = leases.moment();
      const parent = await getSession(chat);
      if (parent?.chat !== chat) throw new BridgeError("not_found", `There is no chat ${chat}.`);
      const session = await db.transaction(async (statements) => {
        await events.fence(statements, chat, moment);
        await statements.query(
          `INSERT INTO session (id, chat, owner, app_name, state, created_at, updated_at)
           SELECT $1, $2, $3, $4, $5, clock.now, clock.now FROM (SELECT ${sqlNow(6)} AS now) AS clock
           ON CONFLICT (id) DO NOTHING`,
          [id, chat, parent.owner, appName, values, db.time()],
        );
        const [row] = await statements.query(`SELECT ${sessionColumns} FROM session WHERE id = $1`, [id]);
        if (!row) throw new BridgeError("not_found", `There is no session ${id}.`);
        return rowToSession(row);
      });
      if (session.chat !== chat)
        throw new BridgeError("conflict", `Session ${id} belongs to another chat than ${chat}.`);
      events.note(id, chat);
      return session;
    },

    async events(sessionId, { after = 0 } = {}) {
      const rows = await db.query(
        "SELECT position, event FROM event WHERE session = $1 AND position > $2 AND NOT withdrawn ORDER BY position",
        [sessionId, after],
      );
      return rows.map((row) => toStoredEvent(Number(row["position"]), text(row["event"])));
    },

    appendEvent: events.append,
    appendEvents: events.appendAll,
    withdrawEvents: events.withdraw,
  };
}
