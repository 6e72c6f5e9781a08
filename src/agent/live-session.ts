import {
  createEvent,
  type Event,
  getFunctionCalls,
  getFunctionResponses,
  type Session as AdkSession,
} from "@google/adk";
import { type Content, Modality, type Part } from "@google/genai";
import type { UIMessage } from "ai";
import { BridgeError } from "../protocol/index.ts";
import type { Approval, Session } from "../stores/index.ts";
import { abortable } from "./abortable.ts";
import { atMost } from "./at-most.ts";
import type { Run } from "./gate.ts";
import { inLiveRun, type LiveRun } from "./harden-live.ts";
import { callsOf, openCalls, responseEvent } from "./history.ts";
import { type Notice, noticeOf, owedOf } from "./live-notices.ts";
import { recordOutcomes } from "./live-outcomes.ts";
import { describeError } from "./logger.ts";
import { isOf, messageToContent, messageToEvent } from "./message-to-content.ts";
import { approvalToResponse } from "./outcome.ts";
import { taskCompleted } from "./missing-tool.ts";
import { OneReaderQueue } from "./one-reader-queue.ts";
import { runInner } from "./request-run.ts";
import type { Turn, TurnTools } from "./turn-input.ts";
import type { Progress, TurnLog } from "./turn-log.ts";

export interface LiveSessionOptions {
  chat: Session;
  tools: TurnTools;
  /** The model's name, where it is another than the agent's own. */
  model: string | undefined;
  /** How long connecting to it may take. */
  connectMs: number;
  /** How long the model may be silent when it is its turn to speak. */
  silenceMs: number;
  /** The model speaks, and no turn listens. */
  onSpeech: () => void;
  /** The model took calls back that were waiting for somebody. */
  onCancelled: (callIds: string[]) => void;
  /** The connection is over, or about to be; it cannot be used any more. */
  onEnd: () => void;
}

/** A turn that listens, and what it shows. */
interface Listener {
  turn: Turn;
  log: TurnLog;
}

const closingMs = 2000;
/** How many events may come before there is a connection, and after it was closed. */
const maxUnheard = 256;
/** How long a turn that could be over waits for more. */
const afterthoughtMs = 5000;

/**
 * One live run of ADK, which outlives turns: each turn says something and listens until the model has finished, or until
 * its calls wait for somebody. A held call is not answered and the model is not told anything about it; it goes on
 * listening, so the conversation can too. When the outcome is there, it is told here if this is still the connection
 * that called, and otherwise as a note.
 */
export class LiveSession {
  readonly #options: LiveSessionOptions;
  readonly #queue = new OneReaderQueue();
  #leaveGate = (): void => undefined;
  #events!: AsyncGenerator<Event>;
  /** ADK's own copy of the session, which it goes by. */
  #session!: AdkSession;
  /** What was said before there was a connection, for the turn that opened it. */
  readonly #early: Event[] = [];
  /** The run has ended without a connection. */
  #hasEnded = false;
  /** The next event, asked for and not yet taken. */
  #next: Promise<IteratorResult<Event>> | undefined;
  #watched: Promise<IteratorResult<Event>> | undefined;
  #listener: Listener | undefined;
  /** Calls that the model waits for on this connection. */
  readonly #waiting = new Set<string>();
  /** What people said and the model has not heard. */
  readonly #unsaid: Part[] = [];
  /** Tools run between a call and its response; silence means nothing then. */
  #toolsRun = false;
  /** The end of a reply that was interrupted is still to come. */
  #owesEnd = false;
  /** The agent has said that its part is done; where no other takes over, the run ends with that. */
  #isComplete = false;
  /** The next event is speech that nobody asked for. */
  #hasSpeech = false;
  /** One timer for every wait: a model may say thousands of words. */
  #silence: { ms: number; timer: NodeJS.Timeout } | undefined;
  #onSilence = (): void => undefined;
  #leaving = false;
  #closing: Promise<void> | undefined;
  readonly #live: LiveRun;

  constructor(options: LiveSessionOptions) {
    const { model, connectMs } = options;
    this.#options = options;
    this.#live = { model, connectMs, isOver: false };
  }

  /** Connects; throws when the model cannot be reached, refuses, or does not answer. */
  async open(): Promise<void> {
    const { chat, tools, connectMs, silenceMs } = this.#options;
    const openMs = connectMs + silenceMs;
    const runner = await tools.runners.runnerOf(chat);
    if (this.#closing) throw new BridgeError("unavailable", "The chat was left before it was connected.");
    this.#leaveGate = tools.gate.enter(chat.id, this.#run());
    this.#events = runner.runLive({
      userId: chat.owner,
      sessionId: chat.id,
      liveRequestQueue: this.#queue,
      runConfig: { responseModalities: [Modality.TEXT] },
    });
    try {
      for (;;) {
        // A model that is not below the agent, and so not known, does not say that it is there.
        const next = await this.#unlessSilent(this.#pull(), openMs);
        if (!next) throw new BridgeError("unavailable", `The model was not reached within ${openMs / 1000} seconds.`);
        const { done, value } = next;
        if (this.#closing || (done && this.#early.length === 0))
          throw new BridgeError("unavailable", "The model ended the conversation before it began.");
        this.#hasEnded = done === true;
        if (done || noticeOf(value)?.connected) return;
        // An agent of plain code, or a callback that answers in the model's place.
        this.#early.push(value);
        if (this.#early.length > maxUnheard)
          throw new BridgeError(
            "too_many",
            `The agent came to no end: more than ${maxUnheard} events without a model.`,
          );
      }
    } catch (error) {
      await this.close();
      throw error;
    } finally {
      this.#hush();
    }
  }

  /** True where the model has said something that no turn has taken. */
  get hasSpeech(): boolean {
    return this.#hasSpeech && !this.#closing;
  }

  /** From now on what happens is shown in this turn. */
  enter(listener: Listener): () => void {
    this.#listener = listener;
    return () => {
      this.#listener = undefined;
      this.#hush();
      this.#watch();
    };
  }

  /** A person's words. Live mode itself would not keep them. */
  async say(message: UIMessage): Promise<void> {
    await this.tell();
    await this.keep(message);
    this.#send({ role: "user", parts: this.#unsaid.splice(0) });
  }

  /** Words that are part of the conversation; the model hears them with the next ones that are said. */
  async keep(message: UIMessage): Promise<void> {
    // Said again because nobody answered: the model knows it already, or will from the history.
    const last = this.#session.events.findLast(({ content }) => content?.parts?.length);
    if (last && isOf(last, message)) return;
    await this.#options.tools.sessions.appendEvent({ session: this.#session, event: messageToEvent(message) });
    this.#unsaid.push(...(messageToContent(message).parts ?? []));
  }

  /** Tells the model what became of its calls; true when it is its turn to speak then. */
  async tell(): Promise<boolean> {
    const { tools } = this.#options;
    const steps = new Map(openCalls(this.#session.events).map(({ call, event }) => [call.id, event.id]));
    const isWaitedFor = (id: string) => this.#waiting.delete(id);
    const { responses, notes, told } = await recordOutcomes(this.#session, tools, isWaitedFor);
    if (responses.length > 0) this.#send({ role: "user", parts: responses });
    if (notes.length > 0) this.#send({ role: "user", parts: notes });
    for (const { id } of told) await tools.store.markTold(id);
    // With another call of the same step open a model may wait for that one; if it does not, it will be heard.
    const waiting = new Set([...this.#waiting].map((id) => steps.get(id)));
    return (
      notes.length > 0 || responses.some(({ functionResponse }) => !waiting.has(steps.get(functionResponse?.id ?? "")))
    );
  }

  /** Puts calls to rest that the model itself took back: the history has an answer, and nobody speaks of them. */
  async record(cancelled: readonly Approval[]): Promise<void> {
    const { store, sessions } = this.#options.tools;
    for (const row of cancelled) {
      const open = openCalls(this.#session.events).find(({ call }) => call.id === row.toolCallId);
      const event = open && responseEvent(open, approvalToResponse(row) ?? {}, { unknown: [] });
      if (event) await sessions.appendEvent({ session: this.#session, event });
      await store.markTold(row.id);
    }
  }

  /** Shows what the model says until it has finished, or until calls of it wait for somebody. */
  async listen({ turn, log }: Listener): Promise<Progress> {
    let isSilent = true;
    let mayEnd = false;
    let steps = 0;
    const { maxLlmCalls } = this.#options.tools;
    try {
      for (;;) {
        const event = await this.#take(turn.signal, mayEnd);
        if (!event) return "done";
        const notice = noticeOf(event);
        // What is a request in the other mode: a connection that is begun, and an answer of the model that calls something.
        if (notice?.connected || getFunctionCalls(event).length > 0) steps += 1;
        if (steps > maxLlmCalls)
          throw new BridgeError("too_many", `The model was asked ${maxLlmCalls} times and came to no end.`);
        if (notice) {
          this.#heed(notice);
          continue;
        }
        this.#owesEnd ||= event.interrupted === true;
        const goesOn = event.turnComplete && this.#goesOn(event, isSilent);
        mayEnd ||= goesOn === "perhaps";
        if (goesOn) log.count(event);
        else await log.event(event, false);
        if (event.customMetadata?.["kept"] !== undefined) return "parked";
        if (event.turnComplete && !goesOn) return "done";
        isSilent = !event.content?.parts?.some(({ text }) => text) && (isSilent || isOfTools(event));
      }
    } catch (error) {
      // What a model still says behind a turn that was stopped could not be told from what it says next. So it says no
      // more: the next turn has a connection of its own, which knows the conversation.
      void this.close();
      throw error;
    }
  }

  /** Ends the connection. Calls that wait for somebody go on waiting without it. */
  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    this.#options.onEnd();
    this.#live.isOver = true;
    // Closing comes first: ADK leaves the socket open when its run is broken off.
    this.#queue.close();
    await atMost(closingMs, this.#drain());
    this.#leaveGate();
  }

  async #drain(): Promise<void> {
    try {
      for (let count = 0; count < maxUnheard; count += 1) {
        if ((await (this.#next ?? this.#pull())).done) return;
        this.#next = undefined;
        // An agent that waits for nothing must not keep everything else waiting.
        await new Promise((resolve) => setImmediate(resolve));
      }
      // It would never end, and has no connection: the one it had is closed, and it gets no other.
      void this.#events.return(undefined).catch(() => undefined);
    } catch {
      // It was ending anyway, and has said what it had to say to whoever listened.
    }
  }

  async #pull(): Promise<IteratorResult<Event>> {
    try {
      return await inLiveRun(this.#live, () => this.#events.next());
    } catch (error) {
      // ADK has sentences for what it cannot do live, and no class of errors.
      const isUnsupported = error instanceof Error && error.message.includes("not supported yet");
      throw isUnsupported ? new BridgeError("unavailable", `This agent cannot talk live. ${error.message}`) : error;
    }
  }

  #send(content: Content): void {
    if (this.#closing) throw new BridgeError("unavailable", "The model ended the conversation.");
    this.#isComplete = false;
    this.#queue.sendContent(content);
  }

  /** The next event; throws when the model is silent for too long, unless it may be. */
  async #take(signal: AbortSignal, mayBeSilent: boolean): Promise<Event | undefined> {
    const early = this.#early.shift();
    if (early) return early;
    if (this.#hasEnded) {
      void this.close();
      return undefined;
    }
    this.#next ??= this.#pull();
    let result: IteratorResult<Event> | undefined;
    try {
      const { silenceMs } = this.#options;
      const patienceMs = mayBeSilent ? Math.min(silenceMs, afterthoughtMs) : silenceMs;
      result = await abortable(this.#toolsRun ? this.#next : this.#unlessSilent(this.#next, patienceMs), signal);
      if (!result && !mayBeSilent)
        throw new BridgeError(
          "unavailable",
          `The model has said nothing for ${this.#options.silenceMs / 1000} seconds.`,
        );
    } catch (error) {
      if (!signal.aborted) void this.close();
      throw error;
    }
    if (!result) return undefined;
    this.#next = undefined;
    this.#hasSpeech = false;
    if (!result.done) return this.#note(result.value);
    void this.close();
    if (this.#isComplete) {
      await this.#rest();
      return undefined;
    }
    throw new BridgeError("unavailable", "The model ended the conversation.");
  }

  /** Behind a response ADK would go on with whoever called; an event that says nothing lets the next run begin at the root. */
  async #rest(): Promise<void> {
    await this.#options.tools.sessions.appendEvent({ session: this.#session, event: createEvent({ author: "user" }) });
  }

  /** The promise, or nothing when the model is silent for too long. */
  #unlessSilent<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      this.#onSilence = () => resolve(undefined);
      if (this.#silence?.ms === ms) this.#silence.timer.refresh();
      else {
        clearTimeout(this.#silence?.timer);
        this.#silence = { ms, timer: setTimeout(() => this.#onSilence(), ms) };
      }
      promise.then(resolve, reject);
    });
  }

  #hush(): void {
    clearTimeout(this.#silence?.timer);
    this.#silence = undefined;
  }

  #note(event: Event): Event {
    const calls = callsOf(event);
    for (const { id } of calls) this.#waiting.add(id);
    const responses = getFunctionResponses(event);
    for (const { id } of responses) if (id) this.#waiting.delete(id);
    if (noticeOf(event)?.connected) this.#isComplete = false;
    else this.#isComplete ||= event.actions?.escalate === true || responses.some(({ name }) => name === taskCompleted);
    this.#toolsRun = calls.length > 0;
    return event;
  }

  /**
   * Whether the end of a model's turn is not the end of ours. It may be that of an older one, which our words interrupted or
   * which had only called. And a model that did not wait for its calls has its say about those that were answered
   * meanwhile, if it wants to say something.
   */
  #goesOn(event: Event, isSilent: boolean): "perhaps" | boolean {
    const owed = owedOf(event);
    const wasInterrupted = this.#owesEnd;
    this.#owesEnd = false;
    if (wasInterrupted || owed.some((id) => !this.#waiting.has(id))) return "perhaps";
    return isSilent && owed.length > 0;
  }

  #heed({ connected, cancelled, leaving }: Notice): void {
    if (connected) {
      // A sub-agent took over, on a connection of its own: it knows the talk and must be asked to go on with it.
      this.#waiting.clear();
      this.#queue.sendContent({ role: "user", parts: [] });
    }
    if (cancelled) {
      for (const id of cancelled) this.#waiting.delete(id);
      this.#options.onCancelled(cancelled);
    }
    if (leaving) this.#leaving = true;
  }

  /** Between turns: waits for the model to speak unasked, or for the connection to end. */
  #watch(): void {
    if (this.#closing || this.#listener) return;
    if (this.#leaving) {
      void this.close();
      return;
    }
    const next = (this.#next ??= this.#pull());
    if (this.#watched === next) return;
    this.#watched = next;
    const { logger } = this.#options.tools;
    next.then(
      ({ done, value }) => {
        if (this.#closing || this.#listener || this.#next !== next) return;
        const notice = done ? undefined : noticeOf(value);
        // Between turns nobody has asked for the next of several agents.
        if (done || notice?.connected) {
          void this.close();
          return;
        }
        if (!notice && value.content) {
          this.#hasSpeech = true;
          this.#options.onSpeech();
          return;
        }
        this.#next = undefined;
        if (notice) this.#heed(notice);
        else this.#note(value);
        this.#watch();
      },
      (error: unknown) => {
        if (this.#listener) return;
        logger.warn("A live connection ended between turns.", {
          chat: this.#options.chat.id,
          error: describeError(error),
        });
        void this.close();
      },
    );
  }

  /** What the gate must know; a call that no turn listens to is refused. */
  #run(): Run {
    const { chat, tools } = this.#options;
    const current = (): Listener => {
      if (!this.#listener) throw new Error("No turn listens to this call.");
      return this.#listener;
    };
    return {
      chat: chat.id,
      owner: chat.owner,
      paused: false,
      live: true,
      messageId: () => current().turn.reply,
      isStopped: () => this.#closing !== undefined || this.#listener === undefined,
      onBegin: ({ session }) => {
        this.#session = session;
      },
      onEvent: async () => this.#listener?.log.flush(),
      onHeld: async (approval) => {
        const { turn, log } = current();
        turn.signal.throwIfAborted();
        await log.ask(approval);
      },
      onUsage: (event) => this.#listener?.log.count(event),
      runInner: (approval) => {
        const { turn, log } = current();
        return runInner(approval, turn, tools, log);
      },
    };
  }
}

const isOfTools = (event: Event): boolean => getFunctionCalls(event).length + getFunctionResponses(event).length > 0;
