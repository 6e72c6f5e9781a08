import { longestMs } from "./at-most.ts";

/** How long one decision holds others up. One that hangs must not do so for ever. */
const decideMs = 500;
/** How many pieces of work begin in one turn of the event loop. */
const startsAtOnce = 4;

/**
 * Lets what follows from decisions wait while other decisions are being recorded. People wait for the acknowledgement of
 * theirs, and when many answer at once, continuing the first conversations would take the time of the last answers.
 */
export class DecisionsFirst {
  readonly #maxWaitMs: number;
  /** What waits, by owner. The owner who is next comes first. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #deciding = 0;
  #isScheduled = false;

  /** Nothing waits longer than `maxWaitMs`, however many decisions come. */
  constructor(maxWaitMs: number) {
    this.#maxWaitMs = Math.min(maxWaitMs, longestMs);
  }

  /** A decision is about to be recorded. Call what this returns when it is; it may be called again. */
  enter(): () => void {
    this.#deciding += 1;
    let isOver = false;
    const leave = () => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      this.#deciding -= 1;
      this.#schedule();
    };
    const timer = setTimeout(leave, decideMs).unref();
    return leave;
  }

  /**
   * Begins the work when no decision is being recorded: at once if none is and nothing waits, otherwise a few at a time and
   * owners in turn. If the signal aborts, the work begins too, and sees it. Resolves and rejects as the work does.
   */
  async run<T>(owner: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.#deciding > 0 || this.#waiting.size > 0) await this.#wait(owner, signal);
    return work();
  }

  #wait(owner: string, signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const start = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const leave = () => {
        const queue = this.#waiting.get(owner)?.filter((other) => other !== start) ?? [];
        if (queue.length > 0) this.#waiting.set(owner, queue);
        else this.#waiting.delete(owner);
        start();
      };
      const timer = setTimeout(leave, this.#maxWaitMs).unref();
      signal?.addEventListener("abort", leave, { once: true });
      this.#waiting.set(owner, [...(this.#waiting.get(owner) ?? []), start]);
    });
  }

  #schedule(): void {
    if (this.#deciding > 0 || this.#waiting.size === 0 || this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      for (let started = 0; started < startsAtOnce && this.#deciding === 0; started += 1) this.#startNext();
      this.#schedule();
    });
  }

  #startNext(): void {
    const [next] = this.#waiting;
    if (!next) return;
    const [owner, [start, ...rest]] = next;
    // The owner goes to the end of the line.
    this.#waiting.delete(owner);
    if (rest.length > 0) this.#waiting.set(owner, rest);
    start?.();
  }
}
