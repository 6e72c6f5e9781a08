import type { Event } from "@google/adk";
import { callsOf, responsesOf } from "../history.ts";
import { noticeOf } from "./notices.ts";

/** The calls that a live model waits for on its present connection. */
export class AwaitedCalls {
  readonly #ids = new Set<string>();

  get ids(): ReadonlySet<string> {
    return this.#ids;
  }

  /** Takes note of an event: calls are awaited until they are answered or cancelled, or another connection takes over. */
  note(event: Event): void {
    const notice = noticeOf(event);
    // Most events are pieces of text.
    if (event.partial && !notice) return;
    if (notice?.connected) this.#ids.clear();
    for (const id of notice?.cancelled ?? []) this.#ids.delete(id);
    for (const { id } of callsOf(event)) this.#ids.add(id);
    this.responded(responsesOf(event).map(({ id }) => id));
  }

  /** These calls have been answered. */
  responded(ids: readonly (string | undefined)[]): void {
    for (const id of ids) if (id !== undefined) this.#ids.delete(id);
  }
}
