import type { Store } from "../../stores/index.ts";
import { describeError, type Logger } from "../support/index.ts";

export interface PresenceContext {
  store: Pick<Store, "notePresence" | "isPresentElsewhere">;
  logger: Logger;
  /** How long other nodes believe that a client is connected. `Ownership` renews it. */
  leaseMs: number;
}

/** Which chats have clients, by any keys. Other nodes are told at once when the first client of a chat comes or the last leaves. */
export class Presence {
  readonly #context: PresenceContext;
  /** How many clients of this node are connected to a chat. */
  readonly #clients = new Map<string, number>();
  /** Chats about which the other nodes have not been told. */
  readonly #changed = new Set<string>();
  #isTelling = false;

  constructor(context: PresenceContext) {
    this.#context = context;
  }

  /** The chats that clients of this node are connected to. */
  get keys(): readonly string[] {
    return [...this.#clients.keys()];
  }

  /** A client is connected to the chat. Call the returned function when it leaves. */
  attach(key: string): () => void {
    this.#count(key, 1);
    let gone = false;
    return () => {
      if (gone) return;
      gone = true;
      this.#count(key, -1);
    };
  }

  /** True while a client is connected to the chat, here or at another node, and if that cannot be found out. */
  async isUsed(key: string): Promise<boolean> {
    if (this.#clients.has(key)) return true;
    const { store, logger } = this.#context;
    return store.isPresentElsewhere(key).catch((error: unknown) => {
      logger.warn("Clients at other nodes could not be looked for.", { error: describeError(error) });
      return true;
    });
  }

  #count(key: string, change: 1 | -1): void {
    const before = this.#clients.get(key) ?? 0;
    const count = before + change;
    if (count > 0) this.#clients.set(key, count);
    else this.#clients.delete(key);
    if (before > 0 && count > 0) return;
    this.#changed.add(key);
    if (!this.#isTelling) void this.#tell();
  }

  /** One statement at a time, for all chats that have changed meanwhile. So the last one says how it is. */
  async #tell(): Promise<void> {
    const { store, logger, leaseMs } = this.#context;
    this.#isTelling = true;
    while (this.#changed.size > 0) {
      const changed = [...this.#changed];
      this.#changed.clear();
      const come = changed.filter((key) => this.#clients.has(key));
      const gone = changed.filter((key) => !this.#clients.has(key));
      try {
        if (come.length > 0) await store.notePresence(come, leaseMs);
        if (gone.length > 0) await store.notePresence(gone, 0);
      } catch (error) {
        logger.warn("Other nodes could not be told about clients.", { error: describeError(error) });
      }
    }
    this.#isTelling = false;
  }
}
