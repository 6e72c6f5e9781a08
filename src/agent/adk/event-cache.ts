import type { Event } from "@google/adk";
import type { Session, Store } from "../../stores/index.ts";

interface CachedSession {
  revision: number;
  /** The position of the last event. */
  last: number;
  events: readonly Event[];
  size: number;
}

/**
 * The events of sessions as objects, so that a turn of a long chat reads only what is new. The session's `revision`
 * says whether the earlier events are still the same. The events are frozen: several runs share them.
 */
export class EventCache {
  readonly #store: Store;
  readonly #maxSize: number;
  /** The session that was used last is the last one. */
  readonly #sessions = new Map<string, CachedSession>();
  #size = 0;

  /** `maxSize` is the length of the JSON of all cached events, in characters. */
  constructor(store: Store, maxSize = 32 * 1024 * 1024) {
    this.#store = store;
    this.#maxSize = maxSize;
  }

  /** The events of a session that was just read from the store. */
  async events({ id, revision }: Session): Promise<Event[]> {
    const found = this.#sessions.get(id);
    const known = found?.revision === revision ? found : undefined;
    const added = await this.#store.events(id, { after: known?.last ?? 0 });
    const events = [...(known?.events ?? []), ...added.map(({ event }) => freeze(event) as unknown as Event)];
    const size = added.reduce((sum, event) => sum + event.size, known?.size ?? 0);
    this.#keep(id, { revision, last: added.at(-1)?.position ?? known?.last ?? 0, events, size });
    // The caller adds to its list.
    return [...events];
  }

  #keep(id: string, session: CachedSession): void {
    this.#size += session.size - (this.#sessions.get(id)?.size ?? 0);
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
    for (const [oldest, { size }] of this.#sessions) {
      if (this.#size <= this.#maxSize) return;
      this.#sessions.delete(oldest);
      this.#size -= size;
    }
  }
}

function freeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) freeze(inner);
  return Object.freeze(value);
}
