import { BridgeError } from "./errors.ts";

export interface QuotaOptions {
  /** What is counted, as a sentence says it: "turns at once". */
  what: string;
  /** How much one owner may use. */
  perOwner: number;
  /** How much all owners may use together. */
  total: number;
  /** After how many seconds a refused request may be sent again. */
  retryAfter?: number;
}

/** A part of a quota that is in use. */
export interface Share {
  /** Uses more. Throws `too_many` if the owner has no more, and `unavailable` if the server has no more. */
  add(amount: number): void;
  /** Names the owner of a share that was taken before its owner was known. Throws `too_many` if the owner has no more. */
  assign(owner: string): void;
  /** Gives back everything. Later calls do nothing. */
  release(): void;
}

/**
 * Counts something that is in use now, per owner and in all. The owner's own limit is checked first: an owner who has too
 * much is told so, also while the server is full.
 */
export class Quota {
  readonly #options: QuotaOptions;
  readonly #owners = new Map<string, number>();
  #used = 0;

  constructor(options: QuotaOptions) {
    this.#options = options;
  }

  /** How much is in use, by this owner or in all. */
  used(owner?: string): number {
    return owner === undefined ? this.#used : (this.#owners.get(owner) ?? 0);
  }

  /** Throws if this owner may not use so much more now. */
  check(owner: string | undefined, amount = 1): void {
    const { what, perOwner, total } = this.#options;
    if (owner !== undefined && this.used(owner) + amount > perOwner)
      throw this.#refusal("too_many", `The limit of ${perOwner} ${what} per owner is reached.`);
    if (this.#used + amount > total)
      throw this.#refusal("unavailable", `The limit of ${total} ${what} of this server is reached.`);
  }

  /** Takes a share. Throws as `check` does. */
  take(owner: string | undefined, amount = 1): Share {
    this.check(owner, amount);
    return this.count(owner, amount);
  }

  /** Takes a share without checking: for what the server starts by itself, and for what must not be refused. */
  count(owner: string | undefined, amount = 1): Share {
    let name = owner;
    let mine = amount;
    let isReleased = false;
    this.#change(name, amount);
    return {
      add: (more) => {
        if (isReleased) return;
        this.check(name, more);
        this.#change(name, more);
        mine += more;
      },
      assign: (found) => {
        if (isReleased || name !== undefined) return;
        const { what, perOwner } = this.#options;
        if (this.used(found) + mine > perOwner)
          throw this.#refusal("too_many", `The limit of ${perOwner} ${what} per owner is reached.`);
        name = found;
        this.#change(name, mine, 0);
      },
      release: () => {
        if (isReleased) return;
        isReleased = true;
        this.#change(name, -mine);
      },
    };
  }

  #change(owner: string | undefined, amount: number, inAll = amount): void {
    this.#used += inAll;
    if (owner === undefined) return;
    const used = this.used(owner) + amount;
    if (used > 0) this.#owners.set(owner, used);
    else this.#owners.delete(owner);
  }

  #refusal(code: "too_many" | "unavailable", sentence: string): BridgeError {
    const { retryAfter = 1 } = this.#options;
    // A client that is refused tries again, and hundreds may. The stack says nothing that the sentence does not, and is the
    // most expensive part of a refusal.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    const refusal = new BridgeError(code, `${sentence} ${retryText(retryAfter)}`, { retryAfter });
    Error.stackTraceLimit = stackTraceLimit;
    return refusal;
  }
}

/** The sentence that says when to try again. */
export function retryText(seconds: number): string {
  return `Try again in ${seconds} second${seconds === 1 ? "" : "s"}.`;
}
