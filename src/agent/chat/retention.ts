import type { Session, Store } from "../../stores/index.ts";
import { describeError, type Logger } from "../support/index.ts";

/** How long data is kept. */
export interface RetentionOptions {
  /** How long a chat is kept after its last change. Default: for ever. */
  chatsMs?: number;
  /**
   * How long the chunks of a turn are kept after its end. Clients that were away for longer get whole messages. Default
   * one day.
   */
  chunksMs?: number;
}

interface RetentionContext {
  store: Store;
  logger: Logger;
  retention?: RetentionOptions | undefined;
  /** Deletes a chat, unless it has changed since `before`. */
  deleteUnchanged: (chat: Session, before: number) => Promise<void>;
}

const oneDay = 24 * 60 * 60_000;
/** How much one sweep removes, a small transaction at a time. */
const chatsPerSweep = 5;
const turnsPerTransaction = 10;
const transactionsPerSweep = 50;

/** Removes what is older than it may be, a little with each sweep. */
export class Retention {
  readonly #context: RetentionContext;

  constructor(context: RetentionContext) {
    this.#context = context;
  }

  async sweep(): Promise<void> {
    const { store, logger, retention: { chatsMs = Infinity, chunksMs = oneDay } = {} } = this.#context;
    try {
      if (chatsMs < Infinity) await this.#deleteChats(store.now() - chatsMs);
      // What has ended just now is old enough if nothing is kept.
      if (chunksMs < Infinity) await this.#trimChunks(store.now() - chunksMs + 1);
    } catch (error) {
      logger.error("Removing old data failed.", { error: describeError(error) });
    }
  }

  async #deleteChats(before: number): Promise<void> {
    const { store, deleteUnchanged } = this.#context;
    for (const chat of await store.unchangedChats({ before, limit: chatsPerSweep }))
      await deleteUnchanged(chat, before);
  }

  async #trimChunks(before: number): Promise<void> {
    for (let count = 0; count < transactionsPerSweep; count += 1) {
      const trimmed = await this.#context.store.trimChunks({ before, limit: turnsPerTransaction });
      if (trimmed < turnsPerTransaction) return;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}
