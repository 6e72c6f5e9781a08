import { atMost } from "./at-most.ts";

/** Lets a few pieces of work run at a time; the others wait in order. */
export class Slots {
  readonly #count: number;
  readonly #holdMs: number;
  readonly #waiting: (() => void)[] = [];
  #taken = 0;

  /** A piece of work that hangs must not keep the others waiting for ever, so it loses its slot after `holdMs`. */
  constructor(count: number, holdMs: number) {
    this.#count = count;
    this.#holdMs = holdMs;
  }

  /** Begins the work when there is a slot for it. Resolves and rejects as the work does. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#taken < this.#count) this.#taken += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    const result = work();
    void atMost(this.#holdMs, result)
      .catch(() => undefined)
      .finally(() => this.#release());
    return result;
  }

  #release(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#taken -= 1;
  }
}
