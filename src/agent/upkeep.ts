import type { BridgeParts } from "./bridge-parts.ts";
import { describeError } from "./support/index.ts";

/** What a bridge looks for now and then. */
export class Upkeep {
  readonly #work: readonly (() => Promise<unknown>)[];
  /** The rounds that are not over. */
  readonly #rounds = new Map<() => Promise<unknown>, Promise<unknown>>();

  constructor({ recovery, dueWork, retention, cache, logger }: BridgeParts) {
    const failed = (error: unknown) =>
      logger.error("Looking for due approvals failed.", { error: describeError(error) });
    this.#work = [
      () => recovery.sweep(),
      () => dueWork.settleDue().catch(failed),
      () => retention.sweep().then(() => cache.dropUnused()),
    ];
  }

  /** Begins a round of everything whose last round is over. None waits for another: people wait for a chat that was left. */
  sweep(): Promise<void> {
    for (const work of this.#work)
      if (!this.#rounds.has(work))
        this.#rounds.set(
          work,
          work().finally(() => this.#rounds.delete(work)),
        );
    return this.over();
  }

  /** Resolves when no round is running. */
  async over(): Promise<void> {
    await Promise.all(this.#rounds.values());
  }
}
