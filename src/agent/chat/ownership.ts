import { BridgeError } from "../../protocol/index.ts";
import { NotOwner, type Store } from "../../stores/index.ts";
import { describeError, type Logger, metrics } from "../support/index.ts";

export interface OwnershipContext {
  store: Store;
  logger: Logger;
  /** How long this node has a chat unless it renews the lease. */
  leaseMs: number;
  /** Another node has taken the chat: everything that this node does in it must end, and nothing can be written. */
  onLost: (chat: string) => void;
  /** Keys of the chats that clients of this node use. */
  presentKeys: () => readonly string[];
}

/** The chat is at another node. The request has had no effect here. */
export class ChatElsewhere extends Error {
  override readonly name = "ChatElsewhere";
  readonly chat: string;
  constructor(chat: string) {
    super(`Chat ${chat} is at another node.`);
    this.chat = chat;
  }
}

/**
 * The chats that this node has. A chat is taken before anything happens in it, kept while something happens, and given back
 * afterwards, so that the next request can be taken by any node. `stores/lease-store.ts` says what a lease means.
 */
export class Ownership {
  readonly #context: OwnershipContext;
  /** Until when this node has each chat, by `performance.now()`, counted from before the store was asked. */
  readonly #until = new Map<string, number>();
  /** Chats in whose log a turn may be left open: this node has just taken them, or the store failed. */
  readonly #unsettled = new Set<string>();
  /** The last thing that was asked of the store about a chat. One thing is asked at a time. */
  readonly #asked = new Map<string, Promise<unknown>>();
  #releasing: Set<string> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(context: OwnershipContext) {
    this.#context = context;
  }

  /** Begins to renew the leases. */
  start(): void {
    this.#timer = setInterval(() => void this.renew(), this.#context.leaseMs / 3);
    this.#timer.unref();
  }

  /** Chats that this node has. */
  get chats(): string[] {
    return [...this.#until.keys()];
  }

  /** True while the lease of the chat has certainly not lapsed. A process that was paused may have lost it. */
  isSure(chat: string): boolean {
    return (this.#until.get(chat) ?? 0) > performance.now();
  }

  /** Takes a chat, unless this node has it. Throws {@link ChatElsewhere} if another node has it. */
  hold(chat: string): Promise<void> {
    if (this.isSure(chat) && !this.#asked.has(chat)) return Promise.resolve();
    return this.#inOrder(chat, async () => {
      const { store, leaseMs } = this.#context;
      const isNew = !this.#until.has(chat);
      const before = performance.now();
      const lease = await store.holdChat(chat, leaseMs);
      if (lease.node !== store.node) {
        if (!isNew) this.#lose(chat);
        throw new ChatElsewhere(chat);
      }
      // Another node had the chat since this one last knew. What runs here belongs to the lease that was lost.
      if (!isNew && lease.isNew) this.#lose(chat);
      this.#until.set(chat, lease.until === Infinity ? Infinity : before + leaseMs);
      if (!isNew && !lease.isNew) return;
      noteTaken();
      this.#unsettled.add(chat);
    });
  }

  /** True if a turn without an end may be left in the log of a chat. */
  isUnsettled(chat: string): boolean {
    return this.#unsettled.has(chat);
  }

  setSettled(chat: string): void {
    this.#unsettled.delete(chat);
  }

  /**
   * Something failed in a chat. Returns the error for the caller: {@link ChatElsewhere} if a write was refused because
   * another node has taken the chat. If the store failed, a turn may have begun or gone on in the log all the same.
   */
  noteFailure(chat: string, error: unknown): unknown {
    if (error instanceof NotOwner) {
      this.noteLost(chat);
      return new ChatElsewhere(chat);
    }
    const isRefusal = error instanceof BridgeError && error.code !== "unavailable";
    if (!isRefusal && this.#until.has(chat)) this.#unsettled.add(chat);
    return error;
  }

  /** Gives a chat back, together with others that are given back now. */
  release(chat: string): void {
    if (!this.#until.has(chat)) return;
    this.#until.delete(chat);
    this.#unsettled.delete(chat);
    metrics.leases.held.add(-1);
    if (this.#releasing) return void this.#releasing.add(chat);
    const chats = new Set([chat]);
    this.#releasing = chats;
    const released = Promise.resolve().then(async () => {
      this.#releasing = undefined;
      for (const each of chats) void this.#inOrder(each, () => released);
      await this.#context.store.releaseChats([...chats]).catch((error: unknown) => this.#report(error));
    });
  }

  /** Another node has taken the chat, as a refused write says. */
  noteLost(chat: string): void {
    if (this.#until.has(chat)) this.#lose(chat);
  }

  async renew(): Promise<void> {
    const { store, leaseMs, presentKeys } = this.#context;
    const before = performance.now();
    const chats = this.chats.filter((chat) => this.#until.get(chat) !== Infinity);
    try {
      const keys = presentKeys();
      if (keys.length > 0) await store.notePresence(keys, leaseMs);
      if (chats.length === 0) return;
      const lost = new Set(await store.renewChats(leaseMs));
      for (const chat of chats) {
        if (lost.has(chat)) this.noteLost(chat);
        else if (this.#until.has(chat)) this.#until.set(chat, before + leaseMs);
      }
    } catch (error) {
      this.#report(error);
    }
  }

  /** Gives all chats back. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    const { chats } = this;
    metrics.leases.held.add(-chats.length);
    this.#until.clear();
    await Promise.allSettled(this.#asked.values());
    await this.#context.store.releaseChats(chats).catch((error: unknown) => this.#report(error));
  }

  #lose(chat: string): void {
    this.#until.delete(chat);
    this.#unsettled.delete(chat);
    metrics.leases.held.add(-1);
    metrics.leases.lost.add(1);
    this.#context.logger.warn("Another node has taken a chat from this one.", { chat });
    this.#context.onLost(chat);
  }

  #report(error: unknown): void {
    const isAway = error instanceof BridgeError && error.code === "unavailable";
    const { logger } = this.#context;
    if (isAway) logger.warn("The leases of this node could not be renewed.", { error: describeError(error) });
    else logger.error("The leases of this node could not be kept.", { error: describeError(error) });
  }

  #inOrder<T>(chat: string, work: () => Promise<T>): Promise<T> {
    const before = this.#asked.get(chat) ?? Promise.resolve();
    const asked = before.then(work, work);
    this.#asked.set(chat, asked);
    const settled = () => {
      if (this.#asked.get(chat) === asked) this.#asked.delete(chat);
    };
    asked.then(settled, settled);
    return asked;
  }
}

function noteTaken(): void {
  metrics.leases.taken.add(1);
  metrics.leases.held.add(1);
}
