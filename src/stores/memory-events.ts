import { BridgeError } from "../protocol/index.ts";
import { exactText } from "./apply-change.ts";
import { toJsonCopy } from "./json-copy.ts";
import { AlreadyResponded, type JsonObject, type NewEvent, type Session, type StoredEvent } from "./store.ts";

interface EventRow {
  id: string;
  position: number;
  text: string;
  responses: ReadonlySet<string>;
  withdrawn: boolean;
}

interface MemoryEventsOptions {
  now: () => number;
  sessions: Map<string, Session>;
}

/** The events of the sessions of the store in memory. */
export function memoryEvents({ now, sessions }: MemoryEventsOptions) {
  const events = new Map<string, EventRow[]>();

  const rowsOf = (sessionId: string): EventRow[] => {
    const rows = events.get(sessionId);
    if (!rows) throw new BridgeError("not_found", `There is no session ${sessionId}.`);
    return rows;
  };

  const changeSession = (sessionId: string, change: (session: Session) => Partial<Session>) => {
    const session = sessions.get(sessionId);
    if (session) sessions.set(sessionId, { ...session, ...change(session) });
  };

  const put = (sessionId: string, { id, event, responses, stateDelta }: NewEvent): StoredEvent => {
    const rows = rowsOf(sessionId);
    for (const text of [id, ...responses]) exactText(text, "An event's id and its calls' ids");
    const standing = rows.filter((row) => !row.withdrawn);
    for (const callId of responses) {
      if (standing.some((row) => row.id !== id && row.responses.has(callId))) throw new AlreadyResponded(callId);
    }
    const text = JSON.stringify(event);
    const delta = stateDelta && toJsonCopy(stateDelta);
    const existing = standing.find((row) => row.id === id);
    const position = existing?.position ?? rows.length + 1;
    const row = { id, position, text, responses: new Set(responses), withdrawn: false };
    rows[position - 1] = row;
    changeSession(sessionId, ({ state, revision }) => ({
      ...{ state: { ...state, ...delta }, updatedAt: now() },
      revision: revision + (existing ? 1 : 0),
    }));
    return toStoredEvent(row);
  };

  return {
    put,

    open(sessionId: string): void {
      events.set(sessionId, []);
    },

    forget(sessionId: string): void {
      events.delete(sessionId);
    },

    read(sessionId: string, after: number): StoredEvent[] {
      const rows = (events.get(sessionId) ?? []).slice(Math.max(0, after));
      return rows.filter((row) => !row.withdrawn).map(toStoredEvent);
    },

    /** Withdraws the events at some positions and adds others, or throws and changes nothing. */
    replace(sessionId: string, positions: readonly number[], added: readonly NewEvent[]): void {
      const before = rowsOf(sessionId);
      const session = sessions.get(sessionId);
      const leaving = new Set(positions);
      events.set(
        sessionId,
        before.map((row) => (leaving.has(row.position) ? { ...row, withdrawn: true } : row)),
      );
      try {
        for (const event of added) put(sessionId, event);
      } catch (error) {
        events.set(sessionId, before);
        if (session) sessions.set(sessionId, session);
        throw error;
      }
      changeSession(sessionId, ({ revision }) => ({ revision: revision + 1 }));
    },

    withdraw(sessionId: string, position: number): void {
      for (const row of events.get(sessionId) ?? []) if (row.position >= position) row.withdrawn = true;
      changeSession(sessionId, ({ revision }) => ({ revision: revision + 1 }));
    },
  };
}

function toStoredEvent({ position, text }: EventRow): StoredEvent {
  return { position, event: JSON.parse(text) as JsonObject, size: text.length };
}
