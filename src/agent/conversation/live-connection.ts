import type { Event } from "@google/adk";
import type { UIMessage } from "ai";
import { BridgeError } from "../../protocol/index.ts";
import type { Session } from "../../stores/index.ts";
import { hasHeldCall } from "../adk/event-metadata.ts";
import { lastContent } from "../adk/history.ts";
import { AwaitedCalls } from "../adk/live/awaited-calls.ts";
import { LiveRun } from "../adk/live/live-run.ts";
import { noticeOf } from "../adk/live/notices.ts";
import { messageToContent } from "../adk/message-to-content.ts";
import { emptyEvent, messageEvent, storesMessage } from "../adk/new-events.ts";
import type { Progress } from "../log/turn-log.ts";
import { type AbortableWaits, describeError, withWaits } from "../support/index.ts";
import { type ConnectionEvent, type ConnectionState, isListening, nextConnectionState } from "./connection-state.ts";
import type { ConversationContext } from "./context.ts";
import { toReplyEvent } from "./live-event.ts";
import type { HistoryPlan } from "./history-plan.ts";
import type { Occasion } from "./plan.ts";
import { isOver, nextReplyState, patienceMs, type ReplyState, type ReplyVerdict } from "./reply-state.ts";
import { runAgent } from "./request-session.ts";
import { type Listener, newRunScope } from "./new-run-scope.ts";
import { Silence } from "./silence.ts";
import { updateHistory } from "./update-history.ts";

export interface LiveConnectionOptions {
  chat: Session;
  context: ConversationContext;
  /** The model's name, if it differs from the agent's own. */
  model: string | undefined;
  /** How long connecting to the model may take. */
  connectMs: number;
  /** How long the model may be silent when it should speak. */
  silenceMs: number;
  /** The model speaks, and no turn listens. */
  onSpeech: () => void;
  /** The model cancelled calls that it had made. */
  onCancelled: (callIds: readonly string[]) => void;
  /** The connection can no longer be used. */
  onClosed: () => void;
}

/**
 * A chat's live connection. It outlives turns: each turn says something and listens until the model has finished, or until
 * its calls wait. A held call gets no response at first, and the model is told nothing about it, so people and model can go
 * on talking. Its state is one of `connection-state.ts`; what a turn hears is judged by `reply-state.ts`.
 */
export class LiveConnection {
  readonly #options: LiveConnectionOptions;
  readonly #run: LiveRun;
  readonly #silence = new Silence();
  readonly #awaited = new AwaitedCalls();
  #state: ConnectionState = "opening";
  /** The turn that listens, in the states where one does. */
  #listener: Listener | undefined;
  #lastActor: string | undefined;

  constructor(options: LiveConnectionOptions) {
    const { chat, context, model, connectMs } = options;
    this.#options = options;
    const scope = newRunScope(
      chat,
      {
        mode: "live",
        freeResults: "send",
        refusesCalls: () => !isListening(this.#state),
        beforeRequest: () => undefined,
      },
      context,
      () => this.#requireListener(),
      (approval, listener) => runAgent(approval, listener, context),
    );
    this.#run = new LiveRun({ userId: chat.owner, sessionId: chat.id, model, connectMs, gate: context.gate, scope });
  }

  /** Connects. Throws when the model cannot be reached, refuses, or does not answer. */
  async open(): Promise<void> {
    const { chat, context, connectMs, silenceMs } = this.#options;
    // A model that is not below the agent does not report that it is connected; it counts as silent.
    const openMs = connectMs + silenceMs;
    const limit = async <T>(wait: Promise<T>): Promise<T> => {
      const result = await this.#silence.limit(wait, openMs);
      if (result !== "silence") return result;
      throw new BridgeError("unavailable", `The model was not reached within ${openMs / 1000} seconds.`);
    };
    try {
      const runner = await context.runners.runnerOf(chat);
      if (this.#state === "closed") throw new BridgeError("unavailable", "The chat was left before it was connected.");
      this.#run.start(runner);
      await this.#run.connected(limit);
      this.#move("connected");
    } catch (error) {
      await this.close();
      throw error;
    } finally {
      this.#silence.stop();
    }
  }

  /** The actor of the last turn that listened. What the model says unasked comes from this actor's message. */
  get lastActor(): string | undefined {
    return this.#lastActor;
  }

  get hasSpeech(): boolean {
    return this.#state === "spoken";
  }

  /** From now on this turn listens. */
  enter(listener: Listener): void {
    if (this.#state === "closed") throw new BridgeError("unavailable", "The model ended the conversation.");
    this.#move("enter");
    this.#listener = listener;
    this.#lastActor = listener.turn.actor;
  }

  /** The turn stops listening. */
  leave(): void {
    this.#listener = undefined;
    this.#silence.stop();
    this.#move("leave");
    this.#watch();
  }

  /** Gives the model a user's message. ADK does not store it in live mode (K20), so it is stored here. */
  say(message: UIMessage): Promise<void> {
    return this.#orClose(() => this.#say(message));
  }

  /**
   * Gives the model outcomes of its calls. `ask`: it will speak then. `transfer`: another agent takes over, and needs a
   * connection of its own.
   */
  async tell(): Promise<"ask" | "rest" | "transfer"> {
    const plan = await this.#orClose(() => this.#update({ kind: "live", awaited: this.#awaited.ids }));
    if (isTransfer(plan)) return "transfer";
    return plan.next === "ask" ? "ask" : "rest";
  }

  /** Asks the model to go on with the history that it knows. */
  goOn(): void {
    this.#run.send({ role: "user", parts: [] });
  }

  /** Writes the responses of calls that the model itself cancelled. The model is not told about them. */
  async recordCancelled(callIds: readonly string[]): Promise<void> {
    await this.#update({ kind: "cancelled", calls: new Set(callIds) });
  }

  /** Shows what the model says until it has finished, or until its calls wait. */
  listen(): Promise<Progress> {
    const listen = (listener: Listener) => withWaits(listener.turn.signal, (waits) => this.#listen(listener, waits));
    return this.#orClose(() => listen(this.#requireListener()));
  }

  /** Ends the connection. Calls that wait for a person go on waiting without it. */
  close(): Promise<void> {
    this.#move("close");
    return this.#run.close();
  }

  /**
   * A turn that fails or is stopped ends the connection: what the model still says could not be told from what it says next.
   * The next turn opens another one, which knows the conversation from the history.
   */
  async #orClose<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      void this.close();
      throw error;
    }
  }

  async #say(message: UIMessage): Promise<void> {
    await this.#update({ kind: "live", awaited: this.#awaited.ids });
    const { session } = this.#run;
    const last = lastContent(session.events);
    if (last && storesMessage(last, message)) {
      // The message was said before and got no response. The model has it from the history.
      this.#run.send({ role: "user", parts: [] });
      return;
    }
    await this.#options.context.sessions.appendEvent({ session, event: messageEvent(message) });
    this.#run.send(messageToContent(message));
  }

  async #listen({ log }: Listener, waits: AbortableWaits): Promise<Progress> {
    const { chat, context, silenceMs } = this.#options;
    const countRequest = () => log.countRequest(context.maxLlmCalls) ?? context.modelCalls.take(chat.owner);
    // A run that ended without a connection needed no model: hearing its end is no failure.
    let reply: ReplyState = this.#run.isConnected ? "silent" : "complete";
    for (;;) {
      const result = await this.#silence.limit(waits.wait(this.#run.peek()), patienceMs(reply, silenceMs));
      if (result === "silence" || result.done) {
        const next = nextReplyState(reply, result === "silence" ? "silence" : "gone");
        if (!isOver(next)) continue; // for the compiler: tools have no time limit, and the end of a run is a verdict
        await this.#end(next, result !== "silence");
        return "done";
      }
      const event = result.value;
      this.#run.take();
      this.#awaited.note(event);
      const kind = toReplyEvent(event, this.#awaited.ids);
      // A new connection, and a response with calls, count as requests do in the other mode.
      const refusal = kind === "another" || kind === "calls" ? countRequest() : undefined;
      if (refusal !== undefined) throw new BridgeError("too_many", refusal);
      const next: ReplyState | ReplyVerdict = kind ? nextReplyState(reply, kind) : reply;
      if (noticeOf(event)) this.#heed(event);
      // The end of a model's turn that does not end ours is counted and not shown.
      else if (event.turnComplete && !isOver(next)) log.countUsage(event);
      else await log.event(event, false);
      if (hasHeldCall(event)) return "parked";
      if (isOver(next)) return "done";
      reply = next;
    }
  }

  /** Acts on a verdict that came from silence or from the end of the run. */
  async #end(verdict: ReplyVerdict, isGone: boolean): Promise<void> {
    const { context, silenceMs } = this.#options;
    if (verdict === "disconnected") throw new BridgeError("unavailable", "The model ended the conversation.");
    if (verdict === "too-silent")
      throw new BridgeError("unavailable", `The model has said nothing for ${silenceMs / 1000} seconds.`);
    if (!isGone) return;
    void this.close();
    // The agent's part is done: the next run starts at the root agent, not at the agent that called last.
    await context.sessions.appendEvent({ session: this.#run.session, event: emptyEvent() });
  }

  /** Between turns: waits for the model to speak, or for the connection to end. */
  #watch(): void {
    if (this.#state !== "idle") return;
    const next = this.#run.peek();
    next.then(
      (result) => {
        // Another call of `watch`, or a turn, may have taken the event.
        if (this.#state !== "idle" || this.#run.peek() !== next) return;
        if (result.done) this.#move("end");
        else if (!noticeOf(result.value) && result.value.content) this.#move("speech");
        else {
          this.#run.take();
          this.#awaited.note(result.value);
          this.#heed(result.value);
          this.#watch();
        }
      },
      (error: unknown) => {
        if (this.#state !== "idle") return;
        const { context, chat } = this.#options;
        context.logger.warn("A live connection ended between turns.", { chat: chat.id, error: describeError(error) });
        this.#move("end");
      },
    );
  }

  /** Acts on what the connection itself reports. */
  #heed(event: Event): void {
    const { connected, cancelled, goAway } = noticeOf(event) ?? {};
    if (connected) {
      this.#move("another");
      // The other agent knows the conversation from its history and has to be asked to go on.
      if (isListening(this.#state)) this.#run.send({ role: "user", parts: [] });
    }
    if (cancelled) this.#options.onCancelled(cancelled);
    if (goAway) this.#move("goAway");
  }

  /** Brings the history up to date and sends the model what it waits for. */
  #update(occasion: Occasion): Promise<HistoryPlan> {
    const { chat, context } = this.#options;
    return updateHistory(this.#run.session, chat.id, occasion, context, ({ responses, notes }, plan) => {
      this.#awaited.responded(responses.map(({ functionResponse }) => functionResponse?.id));
      // Another agent is about to take over; a response on this connection would make this agent speak once more.
      if (isTransfer(plan)) return;
      if (responses.length > 0) this.#run.send({ role: "user", parts: responses });
      if (notes.length > 0) this.#run.send({ role: "user", parts: notes });
    });
  }

  #move(event: ConnectionEvent): void {
    const before = this.#state;
    this.#state = nextConnectionState(before, event);
    if (this.#state === before) return;
    if (this.#state === "spoken") this.#options.onSpeech();
    if (this.#state !== "closed") return;
    this.#options.onClosed();
    void this.#run.close();
  }

  #requireListener(): Listener {
    if (!this.#listener) throw new Error("No turn listens to this call.");
    return this.#listener;
  }
}

/** True when a tool of the recorded calls asked for another agent. */
function isTransfer({ records }: HistoryPlan): boolean {
  return records.some(({ response }) => response?.actions?.transferToAgent !== undefined);
}
