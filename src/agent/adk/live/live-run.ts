import { type Event, type Runner, type Session as AdkSession } from "@google/adk";
import { type Content, Modality } from "@google/genai";
import { BridgeError } from "../../../protocol/index.ts";
import { atMost } from "../../support/index.ts";
import type { EnteredRun } from "../entered-run.ts";
import type { GatePlugin } from "../gate-plugin.ts";
import { isSummary } from "../history.ts";
import type { RunScope } from "../run-scope.ts";
import { inLiveRun, type LiveRunScope } from "./harden-live.ts";
import { noticeOf } from "./notices.ts";
import { OneReaderQueue } from "./one-reader-queue.ts";

export interface LiveRunOptions {
  userId: string;
  sessionId: string;
  /** The model's name, if it differs from the agent's own. */
  model: string | undefined;
  /** How long connecting to the model may take. */
  connectMs: number;
  gate: GatePlugin;
  scope: RunScope;
}

/** How long closing waits for ADK to end the run. */
const closingMs = 2000;
/** How many events may come before there is a connection, and after the run was closed. */
const maxUnheard = 256;

/**
 * One live run of ADK: an input queue and a stream of events. The next event can be looked at without taking
 * it, because the code that waits for an event is not always the code that handles it.
 */
export class LiveRun {
  readonly #queue = new OneReaderQueue();
  readonly #scope: LiveRunScope;
  readonly #options: LiveRunOptions;
  /** Events that came before the connection was there. */
  readonly #early: IteratorResult<Event>[] = [];
  #events: AsyncGenerator<Event> | undefined;
  #entered: EnteredRun | undefined;
  #session: AdkSession | undefined;
  #next: Promise<IteratorResult<Event>> | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: LiveRunOptions) {
    const { model, connectMs, scope } = options;
    this.#options = options;
    const fillIn = (contents: Content[]) => scope.fillIn(contents);
    this.#scope = { model, connectMs, fillIn, isOver: () => this.#closing !== undefined };
  }

  /** Starts the run. Its connection is there when `connected` resolves. */
  start(runner: Runner): void {
    const { userId, sessionId, gate, scope } = this.#options;
    const onBegin = (session: AdkSession) => {
      this.#session = session;
    };
    this.#entered = gate.enter(sessionId, { ...scope, onBegin });
    this.#events = runner.runLive({
      userId,
      sessionId,
      liveRequestQueue: this.#queue,
      runConfig: { responseModalities: [Modality.TEXT] },
    });
  }

  /** ADK's own session object, through which everything must be appended while the run lasts (K18). */
  get session(): AdkSession {
    if (!this.#session) throw new BridgeError("unavailable", "The live run has not begun.");
    return this.#session;
  }

  /** False when the run ended without a connection, because its agent needed no model. */
  get isConnected(): boolean {
    return !this.#early.some(({ done }) => done);
  }

  /**
   * Waits for the connection; `limit` wraps each wait. An agent of plain code, or a callback that answers for the model,
   * may produce events first, or end the run without any connection. Those events are read like any others.
   */
  async connected(limit: <T>(wait: Promise<T>) => Promise<T>): Promise<void> {
    for (;;) {
      const next = await limit(this.#pull());
      if (this.#closing || (next.done && this.#early.length === 0))
        throw new BridgeError("unavailable", "The model ended the conversation before it began.");
      if (!next.done && noticeOf(next.value)?.connected) return;
      this.#early.push(next);
      if (next.done) return;
      if (this.#early.length > maxUnheard)
        throw new BridgeError("too_many", `The agent came to no end: more than ${maxUnheard} events without a model.`);
    }
  }

  /** The next event, left in place. The same promise until `take` is called. */
  peek(): Promise<IteratorResult<Event>> {
    const early = this.#early[0];
    this.#next ??= early ? Promise.resolve(early) : this.#pull();
    return this.#next;
  }

  /** Removes the event that `peek` showed. */
  take(): void {
    this.#early.shift();
    this.#next = undefined;
  }

  /** Gives the model content. It begins to speak. */
  send(content: Content): void {
    if (this.#closing) throw new BridgeError("unavailable", "The model ended the conversation.");
    this.#queue.sendContent(content);
  }

  /** Ends the run and its connection. */
  close(): Promise<void> {
    // `isOver` must be true before the queue closes, or the next of several agents would connect.
    this.#closing ??= Promise.resolve().then(() => this.#end());
    return this.#closing;
  }

  async #end(): Promise<void> {
    // The queue is closed first: ADK leaves the socket open when its generator is ended.
    this.#queue.close();
    await atMost(closingMs, this.#drain());
    this.#entered?.leave();
  }

  async #drain(): Promise<void> {
    try {
      for (let count = 0; count < maxUnheard; count += 1) {
        if (!this.#events || (await (this.#next ?? this.#pull())).done) return;
        this.#next = undefined;
        // An agent that waits for nothing must not block the event loop.
        await new Promise((resolve) => setImmediate(resolve));
      }
      // The run does not end by itself. Its connection is closed, and it gets no other.
      void this.#events?.return(undefined).catch(() => undefined);
    } catch {
      // The run was ending anyway; its error has been reported to the turn that listened.
    }
  }

  async #pull(): Promise<IteratorResult<Event>> {
    const events = this.#events;
    if (!events) throw new BridgeError("unavailable", "The live run has not begun.");
    try {
      const next = await inLiveRun(this.#scope, () => events.next());
      this.#entered?.throwIfRefused();
      // Summaries are stored for the model. The user does not see them.
      return !next.done && isSummary(next.value) ? await this.#pull() : next;
    } catch (error) {
      this.#entered?.throwIfRefused();
      // ADK has sentences for what it does not support live, but no class of errors.
      const isUnsupported = error instanceof Error && error.message.includes("not supported yet");
      throw isUnsupported ? new BridgeError("unavailable", `This agent cannot talk live. ${error.message}`) : error;
    }
  }
}
