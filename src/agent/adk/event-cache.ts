import type { Event } from "@google/adk";
import type { Session, Store } from "../../stores/index.ts";
import { structureBytes, textBytes } from "./heap-bytes.ts";

interface CachedSession {
  revision: number;
  /** The position of the last event. */
  last: number;
  events: readonly Event[];
  /** How much memory the events take. */
  bytes: number;
  /** How much memory the rest takes that they hold. */
  charged: number;
}

interface KeptSession extends CachedSession {
  /** When it was last used. */
  usedAt: number;
}

/** How much memory the histories of chats may take between their turns, if no one says otherwise. */
const defaultMaxBytes = 128 * 1024 * 1024;
/** How long a history is kept after it was used. People often go on within this time. */
const unusedMs = 10 * 60_000;

/**
 * The events of sessions as objects, so that a turn of a long chat reads only what is new. The session's `revision`
 * says whether the earlier events are still the same. The events are frozen: several runs share them.
 *
 * What else is kept for the requests of a session (`finished-contents.ts`, `request-texts.ts`) is held by its events, and
 * `charge` counts it, so that everything is within one limit and goes together.
 */
export class EventCache {
  readonly #store: Store;
  readonly #maxBytes: number;
  /** The session that was used last is the last one. */
  readonly #sessions = new Map<string, KeptSession>();
  #bytes = 0;

  constructor(store: Store, maxBytes = defaultMaxBytes) {
    this.#store = store;
    this.#maxBytes = maxBytes;
  }

  /** The events of a session that was just read from the store. */
  async events({ id, revision }: Session): Promise<Event[]> {
    const found = this.#sessions.get(id);
    const known = found?.revision === revision ? found : undefined;
    const added = await this.#store.events(id, { after: known?.last ?? 0 });
    const events = [...(known?.events ?? []), ...added.map(({ event }) => freeze(event) as unknown as Event)];
    const bytes = added.reduce(
      (sum, { event, size }) => sum + structureBytes(event) + textBytes(size),
      known?.bytes ?? 0,
    );
    const last = added.at(-1)?.position ?? known?.last ?? 0;
    // Also what was charged while the events were read.
    const charged = known ? (this.#sessions.get(id) ?? known).charged : 0;
    this.#keep(id, { revision, last, events, bytes, charged });
    // The caller adds to its list.
    return [...events];
  }

  /** Counts memory that is held by the events of a session. */
  charge(id: string, bytes: number): void {
    const session = this.#sessions.get(id);
    // Otherwise it goes with the turn that uses it.
    if (session) this.#keep(id, { ...session, charged: session.charged + bytes });
  }

  /** Drops what was not used for a while, and so also what is left of deleted chats. Call it at regular intervals. */
  dropUnused(): void {
    const since = this.#store.now() - unusedMs;
    this.#dropOldest(({ usedAt }) => usedAt <= since);
  }

  #keep(id: string, session: CachedSession): void {
    this.#bytes += bytesOf(session) - bytesOf(this.#sessions.get(id));
    this.#sessions.delete(id);
    this.#sessions.set(id, { ...session, usedAt: this.#store.now() });
    this.#dropOldest(() => this.#bytes > this.#maxBytes);
  }

  /** Drops sessions, the one that was used least recently first, while the next one is to go. */
  #dropOldest(isToGo: (session: KeptSession) => boolean): void {
    for (const [id, session] of this.#sessions) {
      if (!isToGo(session)) return;
      this.#sessions.delete(id);
      this.#bytes -= bytesOf(session);
    }
  }
}

function bytesOf(session: CachedSession | undefined): number {
  return session ? session.bytes + session.charged : 0;
}

function freeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) freeze(inner);
  return Object.freeze(value);
}
