const windowMs = 60_000;

/** Allows a number of events in any 60 seconds. Keeps the time of each, so that no two windows together allow more. */
export class MinuteWindow {
  readonly #limit: number;
  #times: number[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** How long to wait until an event is allowed; 0 if it is allowed now. */
  waitMs(now: number): number {
    const first = this.#forget(now);
    return first === undefined || this.#times.length < this.#limit ? 0 : first + windowMs - now;
  }

  /** Counts an event. */
  add(now: number): void {
    this.#forget(now);
    this.#times.push(now);
  }

  isEmpty(now: number): boolean {
    return this.#forget(now) === undefined;
  }

  /** Drops the events that are too old to count. A time in the future, from a clock that was set back, is dropped too. */
  #forget(now: number): number | undefined {
    const isCounted = (time: number) => time > now - windowMs && time <= now;
    const [oldest] = this.#times;
    const newest = this.#times.at(-1);
    if (oldest !== undefined && newest !== undefined && !(isCounted(oldest) && isCounted(newest)))
      this.#times = this.#times.filter(isCounted);
    return this.#times[0];
  }
}
