import { BridgeError } from "../protocol/index.ts";
import { exactText } from "./apply-change.ts";
import { refuseChatPast, UpperBound } from "./refuse-past.ts";
import { deleteSqliteSession } from "./sqlite-deletion.ts";
import type { SqliteDatabase } from "./sqlite-database.ts";
import { parse, rowToSession } from "./sqlite-rows.ts";
import { AlreadyResponded, type NewEvent, type Session, type SessionStore, type StoredEvent } from "./store.ts";

/** Earlier events of a session have changed. */
export const raiseRevision = "UPDATE session SET revision = revision + 1 WHERE id = ?";

/** The tables `session`, `event` and `response`. */
export function sqliteSessions(db: SqliteDatabase, { now, newId }: SqliteSessionsOptions): SessionStore {
  const getSession = (id: string) => readSession(db, id);
  const findChat = (owner: string, name: string, appName: string) =>
    rowToSession(
      db.one(
        "SELECT * FROM session WHERE owner = ? AND name = ? AND appName = ? AND deleted = 0",
        ...[owner, name, appName],
      ),
    );
  const count = (where: string, ...values: string[]) =>
    Number(db.one(`SELECT count(*) AS n FROM session WHERE deleted = 0 AND ${where}`, ...values)?.["n"]);
  const chats = new UpperBound(() => count("name IS NOT NULL"));
  const addSession = (session: Omit<Session, "revision">): Session => {
    const { id, chat, owner, name, appName, state, createdAt, updatedAt } = session;
    db.run(
      "INSERT INTO session (id, chat, owner, name, appName, state, createdAt, updatedAt) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      ...[id, chat, owner, name ?? null, appName, JSON.stringify(state), createdAt, updatedAt],
    );
    return getSession(id) as Session;
  };

  return {
    async openChat({ owner, name, appName }, limits = {}) {
      for (const [field, text] of Object.entries({ owner, name, appName })) exactText(text, field);
      const found = findChat(owner, name, appName);
      if (found) return found;
      const id = newId();
      const at = now();
      return db.transaction("FULL", () => {
        const other = findChat(owner, name, appName);
        if (other) return other;
        refuseChatPast(limits, {
          ofOwner: () => count("owner = ? AND name IS NOT NULL", owner),
          inAll: (atMost) => chats.value(atMost),
        });
        chats.added();
        return addSession({ id, chat: id, owner, name, appName, state: {}, createdAt: at, updatedAt: at });
      });
    },

    async findChat(owner, name, appName) {
      return findChat(owner, name, appName);
    },

    async openSession({ id, chat, appName, state = {} }) {
      for (const [field, text] of Object.entries({ id, appName })) exactText(text, field);
      const findTaken = () => {
        const taken = getSession(id);
        if (taken && taken.chat !== chat)
          throw new BridgeError("conflict", `Session ${id} belongs to another chat than ${chat}.`);
        return taken;
      };
      requireChat(db, chat);
      const at = now();
      return (
        findTaken() ??
        db.transaction("FULL", () => {
          const { owner } = requireChat(db, chat);
          return findTaken() ?? addSession({ id, chat, owner, appName, state, createdAt: at, updatedAt: at });
        })
      );
    },

    async getSession(id) {
      return getSession(id);
    },

    async deleteSession(id) {
      await deleteSqliteSession(db, id);
    },

    async events(sessionId, { after = 0 } = {}) {
      const rows = db.all(
        "SELECT position, event FROM event WHERE session = ? AND position > ? AND withdrawn = 0 ORDER BY position",
        ...[sessionId, after],
      );
      return rows.map((row) => toStoredEvent(Number(row["position"]), String(row["event"])));
    },

    async appendEvent(sessionId, event) {
      const put = putEvent(db, sessionId, event, now);
      return db.transaction("FULL", put);
    },

    async withdrawEvents(sessionId, position) {
      await db.transaction("FULL", () => {
        db.run("UPDATE event SET withdrawn = 1 WHERE session = ? AND position >= ?", sessionId, position);
        db.run("DELETE FROM response WHERE session = ? AND position >= ?", sessionId, position);
        db.run(raiseRevision, sessionId);
      });
    },
  };
}

function toStoredEvent(position: number, text: string): StoredEvent {
  return { position, event: parse(text), size: text.length };
}

interface SqliteSessionsOptions {
  now: () => number;
  newId: () => string;
}

/** Checks an event, and returns what appends it, or replaces the one with its id. Call that inside a transaction. */
export function putEvent(
  db: SqliteDatabase,
  sessionId: string,
  { id, event, responses, stateDelta }: NewEvent,
  now: () => number,
): () => StoredEvent {
  for (const text of [id, ...responses]) exactText(text, "An event's id and its calls' ids");
  const text = JSON.stringify(event);
  // Through JSON first, which drops fields that are undefined: they must not replace existing ones.
  const delta = JSON.stringify(stateDelta ?? {});
  return () => {
    const session = readSession(db, sessionId);
    if (!session) throw new BridgeError("not_found", `There is no session ${sessionId}.`);
    const existing = db.one(
      "SELECT position FROM event WHERE session = ? AND id = ? AND withdrawn = 0",
      ...[sessionId, id],
    );
    const last = db.one("SELECT max(position) AS last FROM event WHERE session = ?", sessionId);
    const position = Number(existing?.["position"] ?? Number(last?.["last"] ?? 0) + 1);
    if (existing) {
      db.run("UPDATE event SET event = ? WHERE session = ? AND position = ?", text, sessionId, position);
      db.run("DELETE FROM response WHERE session = ? AND position = ?", sessionId, position);
      db.run(raiseRevision, sessionId);
    } else {
      db.run("INSERT INTO event (session, position, id, event) VALUES (?, ?, ?, ?)", sessionId, position, id, text);
    }
    for (const callId of new Set(responses)) {
      const answer = "INSERT INTO response (session, callId, position) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
      if (db.run(answer, sessionId, callId, position) === 0) throw new AlreadyResponded(callId);
    }
    const state = JSON.stringify({ ...session.state, ...parse(delta) });
    db.run("UPDATE session SET state = ?, updatedAt = ? WHERE id = ?", state, now(), sessionId);
    return toStoredEvent(position, text);
  };
}

export function readSession(db: SqliteDatabase, id: string): Session | undefined {
  return rowToSession(db.one("SELECT * FROM session WHERE id = ? AND deleted = 0", id));
}

/** A chat has changed; the list of chats is in the order of these times. */
export function noteChange(db: SqliteDatabase, chat: string, at: number): void {
  db.run("UPDATE session SET updatedAt = ? WHERE id = ?", at, chat);
}

/** The session of a chat; throws `not_found` for an unknown id and for the id of an inner session. */
export function requireChat(db: SqliteDatabase, id: string): Session {
  const chat = readSession(db, id);
  if (chat?.chat !== id) throw new BridgeError("not_found", `There is no chat ${id}.`);
  return chat;
}
