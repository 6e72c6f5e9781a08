import { BridgeError } from "../protocol/index.ts";
import { retryText } from "../protocol/quota.ts";
import type { Rate } from "../protocol/read-limits.ts";
import { TokenBucket } from "./token-bucket.ts";

/** How long a caller may be kept waiting. If it would take longer, it is refused. */
const maxWaitMs = 2000;
/** After so many calls the owners who have done nothing for a while are forgotten. */
const forgetEvery = 1000;

/** Limits how often each owner does something. One who is a little too fast waits; one who is much too fast is refused. */
export class OwnerRates {
  readonly #what: string;
  readonly #rate: Rate;
  readonly #now: () => number;
  readonly #buckets = new Map<string, TokenBucket>();
  #calls = 0;

  /** @param what what is done, as a sentence says it: "attaches" */
  constructor(what: string, rate: Rate, now: () => number) {
    this.#what = what;
    this.#rate = rate;
    this.#now = now;
  }

  /** Resolves when the owner may do it. Rejects with `too_many` if that is not soon. */
  async pass(owner: string): Promise<void> {
    const { size, perSecond } = this.#rate;
    if (size === Infinity) return;
    const now = this.#now();
    const bucket = this.#buckets.get(owner) ?? new TokenBucket({ size, perSecond, now });
    this.#buckets.set(owner, bucket);
    this.#calls += 1;
    if (this.#calls % forgetEvery === 0)
      for (const [name, each] of this.#buckets) if (each.isFull(now)) this.#buckets.delete(name);
    const waitMs = bucket.reserve(now, maxWaitMs);
    if (waitMs > maxWaitMs) {
      const retryAfter = Math.ceil(waitMs / 1000);
      throw new BridgeError(
        "too_many",
        `The limit of ${perSecond} ${this.#what} per second and owner is reached. ${retryText(retryAfter)}`,
        { retryAfter },
      );
    }
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
}
