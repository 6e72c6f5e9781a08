/** Allows a number of events at once, and a number per second after that. Small, because every socket has one. */
export class TokenBucket {
  readonly #size: number;
  readonly #perSecond: number;
  #tokens: number;
  #at: number;

  constructor({ size, perSecond, now }: { size: number; perSecond: number; now: number }) {
    this.#size = size;
    this.#perSecond = perSecond;
    this.#tokens = size;
    this.#at = now;
  }

  /** Takes one token; false if there is none. */
  take(now: number): boolean {
    this.#fill(now);
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Takes one token, or one that will be there soon. Returns how long to wait for it; past `maxMs` nothing is taken. */
  reserve(now: number, maxMs: number): number {
    this.#fill(now);
    const waitMs = Math.max(0, ((1 - this.#tokens) / this.#perSecond) * 1000);
    if (waitMs <= maxMs) this.#tokens -= 1;
    return waitMs;
  }

  /** True when nothing was taken for so long that all tokens are there. */
  isFull(now: number): boolean {
    this.#fill(now);
    return this.#tokens >= this.#size;
  }

  /** A clock that goes back adds no tokens. */
  #fill(now: number): void {
    const gained = (Math.max(0, now - this.#at) / 1000) * this.#perSecond;
    this.#tokens = Math.min(this.#size, this.#tokens + gained);
    this.#at = now;
  }
}
