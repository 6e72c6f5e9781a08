/** So many at once, and so many a second from then on. Keeps two numbers, because there is one for every socket. */
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

  /** Takes one; false when there is none. A clock that goes back gives nothing. */
  take(now: number): boolean {
    const gained = (Math.max(0, now - this.#at) / 1000) * this.#perSecond;
    this.#tokens = Math.min(this.#size, this.#tokens + gained);
    this.#at = now;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}
