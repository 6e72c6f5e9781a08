import { BridgeError } from "../../protocol/index.ts";
import { Quota, type Share } from "../../protocol/quota.ts";
import type { Session } from "../../stores/index.ts";
import { hardenLive } from "../adk/live/harden-live.ts";
import { abortable, describeError, metrics } from "../support/index.ts";
import type { Turn } from "../turn-input.ts";
import type { ConversationContext } from "./context.ts";
import { LiveConnection } from "./live-connection.ts";
import { Presence } from "./presence.ts";
import { updateHistory } from "./update-history.ts";

export interface LiveOptions {
  /** The model's name over a live connection. Default: that of the agent's own model. */
  model?: string;
  /** How long connecting to the model may take. Default 10 seconds. */
  connectMs?: number;
  /** How long the model may be silent when it should speak. Default 30 seconds. */
  silenceMs?: number;
  /** How long a live connection stays open while no client is connected to the chat. Default 1 minute. */
  idleMs?: number;
}

/** What a live model does without being asked. */
export interface UnaskedListener {
  /** The model speaks, and no turn listens. */
  onSpeech(chat: Session): void;
  /** The model cancelled calls that it had made. */
  onCancelled(chat: Session, callIds: readonly string[]): void;
  /** The chat has no connection any more. */
  onClosed(chatId: string): void;
}

/** When an owner with too many connections may try again: connections that no client uses close after a while. */
const roomSeconds = 5;

/** A connection, or the attempt to open one. */
interface Entry {
  readonly chat: Session;
  opening: Promise<LiveConnection>;
  /** Set as soon as there is something to close. */
  connection?: LiveConnection;
  isOpen: boolean;
  /** Set while no turn uses it. */
  idle: NodeJS.Timeout | undefined;
  share: Share;
}

/**
 * The live connections of all chats, at most one each. Opened when a turn needs one, closed when no one does: after a while,
 * or at once when there would be no room for another chat.
 */
export class ConnectionPool {
  /** The model's name, if it differs from the agent's own. */
  readonly model: string | undefined;
  readonly #options: Required<Omit<LiveOptions, "model">>;
  readonly #context: ConversationContext;
  readonly #entries = new Map<string, Entry>();
  readonly #quota: Quota;
  readonly #closing = new Set<Promise<void>>();
  /** Which chats have clients, by owner and name. */
  readonly #presence: Presence;
  #unasked: UnaskedListener | undefined;

  constructor(context: ConversationContext, { model, ...options }: LiveOptions) {
    this.model = model;
    this.#context = context;
    this.#presence = new Presence(context);
    const { liveConnections: total, liveConnectionsPerOwner: perOwner } = context.limits;
    this.#quota = new Quota({ what: "live connections", perOwner, total, retryAfter: roomSeconds });
    this.#options = {
      connectMs: options.connectMs ?? 10_000,
      silenceMs: options.silenceMs ?? 30_000,
      idleMs: options.idleMs ?? 60_000,
    };
  }

  subscribe(listener: UnaskedListener): void {
    this.#unasked = listener;
  }

  /** True when the chat has a connection, or one is being opened. */
  has(chatId: string): boolean {
    return this.#entries.has(chatId);
  }

  /** Throws if the owner may not have another connection. */
  async checkRoom(owner: string): Promise<void> {
    if (!(await this.#findUnused(owner))) this.#quota.check(owner);
  }

  /** The chat's connection if it is open. */
  get(chatId: string): LiveConnection | undefined {
    const entry = this.#entries.get(chatId);
    return entry?.isOpen ? entry.connection : undefined;
  }

  /** The chat's connection, opened if there is none. `asks`: the turn brings nothing new; the model goes on with the history. */
  async open({ chat, signal }: Turn, asks: boolean): Promise<LiveConnection> {
    const entry = this.#entries.get(chat.id) ?? this.#begin(chat, asks, await this.#takeShare(chat.owner));
    clearTimeout(entry.idle);
    entry.idle = undefined;
    try {
      return await abortable(entry.opening, signal);
    } catch (error) {
      // Opening may hang in a toolset or an instruction that is asked for first.
      if (signal.aborted) await this.close(chat.id);
      throw error;
    }
  }

  /** Ends a chat's connection. One that is still opening is only waited for by `closeAll`. */
  async close(chatId: string): Promise<void> {
    const entry = this.#entries.get(chatId);
    if (!entry) return;
    this.#remove(chatId);
    entry.share.release();
    clearTimeout(entry.idle);
    this.#unasked?.onClosed(chatId);
    const closing = entry.connection?.close() ?? Promise.resolve();
    this.#closing.add(closing);
    void closing.finally(() => this.#closing.delete(closing));
    if (entry.isOpen) await closing;
  }

  async closeAll(): Promise<void> {
    for (const chat of this.#entries.keys()) void this.close(chat);
    await Promise.all(this.#closing);
  }

  /** A client is connected to the chat. Call the returned function when it leaves. */
  attach(owner: string, chatName: string): () => void {
    return this.#presence.attach(keyOf(owner, chatName));
  }

  /** True while a client is connected to the chat, at any node. */
  isUsed(owner: string, chatName: string): Promise<boolean> {
    return this.#presence.isUsed(keyOf(owner, chatName));
  }

  /** Names the chats that clients of this node are connected to. */
  get presentKeys(): readonly string[] {
    return this.#presence.keys;
  }

  /** A turn is over. Unless a client is connected to the chat, its connection closes after a while. */
  closeWhenIdle(chat: Session): void {
    const entry = this.#entries.get(chat.id);
    if (!entry) return;
    clearTimeout(entry.idle);
    // The one that became idle last is the last.
    this.#entries.delete(chat.id);
    this.#entries.set(chat.id, entry);
    entry.idle = setTimeout(() => void this.#closeUnused(chat, entry), this.#options.idleMs);
    entry.idle.unref();
  }

  async #closeUnused(chat: Session, entry: Entry): Promise<void> {
    const { idle } = entry;
    const isUsed = await this.isUsed(chat.owner, chat.name ?? "");
    // A turn may have begun or ended meanwhile.
    if (this.#entries.get(chat.id) !== entry || entry.idle !== idle) return;
    if (isUsed) this.closeWhenIdle(chat);
    else await this.close(chat.id);
  }

  /** Counts another connection of this owner. If the limit is reached, an unused connection is closed to make room. */
  async #takeShare(owner: string): Promise<Share> {
    let share: Share | undefined;
    // In one go, or another chat could take the share in between.
    const use = (unused: string) => {
      void this.close(unused);
      share = this.#quota.take(owner);
    };
    await this.#findUnused(owner, use);
    return share ?? this.#quota.take(owner);
  }

  /**
   * True if the owner can have another connection only in the place of one that no client uses. `use` gets its chat, that of
   * the one which has been idle for longest.
   */
  async #findUnused(owner: string, use: (chatId: string) => void = () => undefined): Promise<boolean> {
    const { liveConnections, liveConnectionsPerOwner } = this.#context.limits;
    for (const entry of [...this.#entries.values()]) {
      const isOwnLimit = this.#quota.used(owner) >= liveConnectionsPerOwner;
      if (!isOwnLimit && this.#quota.used() < liveConnections) return false;
      const { chat, idle } = entry;
      if (idle === undefined || (isOwnLimit && chat.owner !== owner)) continue;
      if (await this.isUsed(chat.owner, chat.name ?? "")) continue;
      // A turn may have begun meanwhile.
      if (this.#entries.get(chat.id) !== entry || entry.idle !== idle) continue;
      use(chat.id);
      return true;
    }
    return false;
  }

  #begin(chat: Session, withMessage: boolean, share: Share): Entry {
    const { connectMs, silenceMs } = this.#options;
    const forget = () => {
      const isCurrent = this.#entries.get(chat.id) === entry;
      if (isCurrent) this.#remove(chat.id);
      share.release();
      clearTimeout(entry.idle);
      if (isCurrent) this.#unasked?.onClosed(chat.id);
    };
    const connect = async () => {
      // What the model has not been told is in the history that the connection begins with.
      const session = await this.#context.sessions.load(chat);
      await updateHistory(session, chat.id, { kind: "connect", withMessage }, this.#context);
      hardenLive(this.#context.agent);
      if (this.#entries.get(chat.id) !== entry)
        throw new BridgeError("unavailable", "The chat was left before it was connected.");
      const connection = new LiveConnection({
        ...{ chat, context: this.#context, model: this.model, connectMs, silenceMs },
        onSpeech: () => this.#unasked?.onSpeech(chat),
        onCancelled: (callIds) => this.#unasked?.onCancelled(chat, callIds),
        onClosed: forget,
      });
      entry.connection = connection;
      try {
        await connection.open();
      } catch (error) {
        const { logger } = this.#context;
        logger.warn("A live connection could not be opened.", { chat: chat.id, error: describeError(error) });
        throw error;
      }
      return connection;
    };
    // `connect` waits before it looks at the entry, so the entry is registered by then.
    const entry: Entry = { chat, opening: connect(), isOpen: false, idle: undefined, share };
    entry.opening.then(() => (entry.isOpen = true), forget);
    this.#entries.set(chat.id, entry);
    metrics.connections.live.add(1);
    return entry;
  }

  #remove(chatId: string): void {
    if (this.#entries.delete(chatId)) metrics.connections.live.add(-1);
  }
}

function keyOf(owner: string, chatName: string): string {
  return JSON.stringify([owner, chatName]);
}
