import { BridgeError } from "../protocol/index.ts";
import type { Store } from "../stores/index.ts";
import { describeError, type Logger, within } from "./support/index.ts";

export interface ReadinessOptions {
  store: Pick<Store, "check">;
  logger: Logger;
  /** Milliseconds of a clock that only goes forward. */
  now?: () => number;
  /** How long the store may take to answer. Default 2 seconds. */
  limitMs?: number;
}

/** How long an answer of the store counts, so that probes cannot load the database. */
const freshMs = 1000;

/** Whether this process should get requests: its store answers, and it is not stopping. */
export class Readiness {
  readonly #options: ReadinessOptions;
  readonly #stopping = new AbortController();
  readonly #now: () => number;
  /** The question that the store has not answered yet. There is one at a time, also if the store hangs. */
  #asked: Promise<void> | undefined;
  #last: { at: number; result: Promise<void> } | undefined;
  #isAway = false;

  constructor(options: ReadinessOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Aborts when the process begins to stop. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  stop(): void {
    this.#stopping.abort(stops());
  }

  /** Rejects with `unavailable` unless the process is ready. */
  async check(): Promise<void> {
    this.stopping.throwIfAborted();
    if (!this.#last || this.#now() - this.#last.at >= freshMs)
      this.#last = { at: this.#now(), result: this.#askInTime() };
    await this.#last.result;
    this.stopping.throwIfAborted();
  }

  async #askInTime(): Promise<void> {
    const { limitMs = 2000, logger } = this.#options;
    try {
      this.#asked ??= this.#ask().finally(() => (this.#asked = undefined));
      await within(limitMs, this.#asked, () => new Error(`The store has not answered for ${limitMs / 1000} seconds.`));
    } catch (error) {
      if (!this.#isAway) logger.warn("The store does not answer.", { error: describeError(error) });
      this.#isAway = true;
      // The details are in the log: they may name hosts and users of the database.
      throw new BridgeError("unavailable", "The database cannot be reached. Try again in a moment.");
    }
    if (this.#isAway) logger.info("The store answers again.");
    this.#isAway = false;
  }

  async #ask(): Promise<void> {
    await this.#options.store.check();
  }
}

function stops(): BridgeError {
  return new BridgeError("unavailable", "The server is stopping. Try again in a moment.");
}
