/** How long the event loop is kept in one turn. */
const sliceMs = 5;

/**
 * Spreads work over turns of the event loop. Node runs all timers that are due in one turn, and hundreds of them may be due
 * at once.
 */
export class LoopTurns {
  readonly #waiting: (() => void)[] = [];

  /** Does the work in one of the next turns, after what was given before. */
  add(work: () => void): void {
    this.#waiting.push(work);
    if (this.#waiting.length === 1) setImmediate(() => this.#doSome());
  }

  #doSome(): void {
    const until = performance.now() + sliceMs;
    let done = 0;
    do this.#waiting[done++]?.();
    while (done < this.#waiting.length && performance.now() < until);
    this.#waiting.splice(0, done);
    if (this.#waiting.length > 0) setImmediate(() => this.#doSome());
  }
}
