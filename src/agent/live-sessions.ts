import type { BaseAgent } from "@google/adk";
import { BridgeError } from "../protocol/index.ts";
import type { Session } from "../stores/index.ts";
import { abortable } from "./abortable.ts";
import { hardenLive } from "./harden-live.ts";
import { mendHistory, recordOutcomes } from "./live-outcomes.ts";
import { LiveSession } from "./live-session.ts";
import { describeError } from "./logger.ts";
import type { Turn, TurnTools } from "./turn-input.ts";

export interface LiveOptions {
  /** The model's name over a live connection, where it is another than the agent's own. */
  model?: string;
  /** How long connecting to the model may take. Default 10 seconds. */
  connectMs?: number;
  /** How long the model may be silent when it is its turn. Default 30 seconds. */
  silenceMs?: number;
  /** How long a live connection stays open when nobody is connected to the chat. Default 1 minute. */
  idleMs?: number;
}

export interface LiveCallbacks {
  onSpeech(chat: Session): void;
  onCancelled(chat: Session, callIds: string[]): void;
}

interface Entry {
  opening: Promise<LiveSession>;
  /** As soon as there is one that could be closed. */
  session?: LiveSession;
  isOpen: boolean;
  /** Until when nobody has to need it. */
  idle?: NodeJS.Timeout;
}

/** The live connections of all chats, at most one each: opened when a turn needs it, closed when nobody does. */
export class LiveSessions {
  /** The model's name, where it is another than the agent's own. */
  readonly model: string | undefined;
  readonly #options: Required<Omit<LiveOptions, "model">>;
  readonly #callbacks: LiveCallbacks;
  readonly #agent: BaseAgent;
  readonly #sessions = new Map<string, Entry>();
  readonly #closing = new Set<Promise<void>>();
  /** How many are connected to a chat, by owner and name. */
  readonly #attached = new Map<string, number>();

  constructor(agent: BaseAgent, options: LiveOptions, callbacks: LiveCallbacks) {
    this.model = options.model;
    this.#agent = agent;
    this.#options = {
      connectMs: options.connectMs ?? 10_000,
      silenceMs: options.silenceMs ?? 30_000,
      idleMs: options.idleMs ?? 60_000,
    };
    this.#callbacks = callbacks;
  }

  has(chatId: string): boolean {
    return this.#sessions.has(chatId);
  }

  /** The chat's connection, opened if there is none. What the model has not heard is in the history it begins with. */
  async open({ chat, signal, input }: Turn, tools: TurnTools): Promise<LiveSession> {
    let entry = this.#sessions.get(chat.id);
    if (!entry) {
      const leave = () => {
        if (this.#sessions.get(chat.id) === opened) this.#sessions.delete(chat.id);
        clearTimeout(opened.idle);
      };
      const opening = this.#connect(chat, tools, {
        catchUp: input.kind === "message",
        onSession: (session) => {
          if (this.#sessions.get(chat.id) !== opened)
            throw new BridgeError("unavailable", "The chat was left before it was connected.");
          opened.session = session;
        },
        onEnd: leave,
      });
      const opened: Entry = { opening, isOpen: false };
      opening.then(() => (opened.isOpen = true), leave);
      this.#sessions.set(chat.id, opened);
      entry = opened;
    }
    clearTimeout(entry.idle);
    try {
      return await abortable(entry.opening, signal);
    } catch (error) {
      // Opening may take for ever, where a tool set or an instruction is asked for first.
      if (signal.aborted) await this.close(chat.id);
      throw error;
    }
  }

  /** The chat's connection if it is open. */
  get(chatId: string): LiveSession | undefined {
    const entry = this.#sessions.get(chatId);
    return entry?.isOpen ? entry.session : undefined;
  }

  /** Ends a chat's connection. One that is still being opened is waited for only when all are closed. */
  async close(chatId: string): Promise<void> {
    const entry = this.#sessions.get(chatId);
    if (!entry) return;
    this.#sessions.delete(chatId);
    clearTimeout(entry.idle);
    const closing = entry.session?.close() ?? Promise.resolve();
    this.#closing.add(closing);
    void closing.finally(() => this.#closing.delete(closing));
    if (entry.isOpen) await closing;
  }

  async closeAll(): Promise<void> {
    for (const chat of this.#sessions.keys()) void this.close(chat);
    await Promise.all(this.#closing);
  }

  /** Somebody is connected; returns what to call when they leave. */
  attach(owner: string, chatName: string): () => void {
    const key = JSON.stringify([owner, chatName]);
    this.#attached.set(key, (this.#attached.get(key) ?? 0) + 1);
    let gone = false;
    return () => {
      if (gone) return;
      gone = true;
      const left = (this.#attached.get(key) ?? 1) - 1;
      if (left > 0) this.#attached.set(key, left);
      else this.#attached.delete(key);
    };
  }

  /** A turn is over: unless somebody is connected, the connection is let go after a while. */
  rest(chat: Session): void {
    const entry = this.#sessions.get(chat.id);
    if (!entry) return;
    clearTimeout(entry.idle);
    entry.idle = setTimeout(() => {
      if (this.#attached.has(JSON.stringify([chat.owner, chat.name]))) this.rest(chat);
      else void this.close(chat.id);
    }, this.#options.idleMs);
    entry.idle.unref();
  }

  async #connect(
    chat: Session,
    tools: TurnTools,
    {
      catchUp,
      onSession,
      onEnd,
    }: {
      catchUp: boolean;
      /** Throws where it is not wanted any more. */ onSession: (session: LiveSession) => void;
      onEnd: () => void;
    },
  ): Promise<LiveSession> {
    // Behind a wait in any case, so that the entry is there to be looked for.
    const history = await tools.sessions.load(chat);
    await mendHistory(history, tools);
    if (catchUp) {
      const { told } = await recordOutcomes(history, tools, () => false);
      for (const { id } of told) await tools.store.markTold(id);
    }
    hardenLive(this.#agent);
    const session = new LiveSession({
      chat,
      tools,
      model: this.model,
      connectMs: this.#options.connectMs,
      silenceMs: this.#options.silenceMs,
      onSpeech: () => this.#callbacks.onSpeech(chat),
      onCancelled: (callIds) => this.#callbacks.onCancelled(chat, callIds),
      onEnd,
    });
    onSession(session);
    try {
      await session.open();
    } catch (error) {
      tools.logger.warn("A live connection could not be opened.", { chat: chat.id, error: describeError(error) });
      throw error;
    }
    return session;
  }
}
