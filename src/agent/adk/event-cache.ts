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

/** How much memory the histories of chats may take between their turns, if no one says otherwise. */
const defaultMaxBytes = 128 * 1024 * 1024;

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
  readonly #sessions = new Map<string, CachedSession>();
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

  #keep(id: string, session: CachedSession): void {
    this.#bytes += bytesOf(session) - bytesOf(this.#sessions.get(id));
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
    for (const [oldest, dropped] of this.#sessions) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#sessions.delete(oldest);
      this.#bytes -= bytesOf(dropped);
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
