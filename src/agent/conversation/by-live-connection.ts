import type { UIMessage } from "ai";
import { BridgeError } from "../../protocol/index.ts";
import type { Approval } from "../../stores/index.ts";
import { modelName } from "../adk/agents.ts";
import type { Progress, TurnLog } from "../log/turn-log.ts";
import { describeError } from "../support/index.ts";
import type { Turn } from "../turn-input.ts";
import { type ConversationContext, storeMessage } from "./context.ts";
import type { Conversation } from "./conversation.ts";
import type { LiveConnection } from "./live-connection.ts";
import type { ConnectionPool } from "./connection-pool.ts";
import { runWaitingAgents } from "./request-session.ts";

/**
 * A conversation over the chat's live connection, which is opened when needed and stays open after the turn. New text ends
 * nothing: calls go on waiting. Each outcome goes to the model as soon as it is known.
 */
export class LiveConversation implements Conversation {
  readonly #turn: Turn;
  readonly #context: ConversationContext;
  readonly #pool: ConnectionPool;
  /** The connection this turn has entered. */
  #entered: LiveConnection | undefined;

  constructor(turn: Turn, context: ConversationContext, pool: ConnectionPool) {
    this.#turn = turn;
    this.#context = context;
    this.#pool = pool;
  }

  get modelName(): string {
    return this.#pool.model ?? modelName(this.#context.agent);
  }

  get hasSpeech(): boolean {
    return this.#pool.get(this.#turn.chat.id)?.hasSpeech ?? false;
  }

  async say(message: UIMessage, log: TurnLog): Promise<Approval[]> {
    this.#countModelCall();
    // The user interrupts what the model has begun to say unasked. Nothing of that has been shown.
    if (this.hasSpeech) await this.#pool.close(this.#turn.chat.id);
    await this.#runAgents(log);
    const connection = await this.#enter(log, true);
    await connection.say(message);
    return [];
  }

  async deliver(log: TurnLog): Promise<"ask" | Progress> {
    await runWaitingAgents(this.#turn.chat, { turn: this.#turn, log }, this.#context);
    // Readers of the log get the outcome before the model does.
    await new Promise((resolve) => setImmediate(resolve));
    this.#countModelCall();
    const connection = await this.#enter(log);
    const next = await connection.tell();
    if (next === "transfer") {
      this.#leave();
      await this.#pool.close(this.#turn.chat.id);
      // The new connection starts at the agent that takes over, which the history names.
      (await this.#enter(log)).goOn();
    }
    return next === "rest" ? "done" : "ask";
  }

  async again(log: TurnLog): Promise<"ask" | Progress> {
    await this.#runAgents(log);
    // The connection begins with the whole history, which has the calls that stay.
    (await this.#enter(log, true)).goOn();
    return "ask";
  }

  /** Nothing: the connection tells outcomes with the next thing that is said. */
  async record(): Promise<void> {}

  async listen(log: TurnLog): Promise<Progress> {
    return (await this.#enter(log)).listen();
  }

  leave(): void {
    this.#leave();
    this.#pool.closeWhenIdle(this.#turn.chat);
  }

  async abandon(message: UIMessage | undefined): Promise<void> {
    if (message) await storeMessage(message, this.#turn.chat, this.#context);
  }

  /**
   * Runs on agents whose calls were settled while no connection was open: the model was not asked then. One that fails must
   * not keep the user from talking.
   */
  async #runAgents(log: TurnLog): Promise<void> {
    const { chat } = this.#turn;
    try {
      await runWaitingAgents(chat, { turn: this.#turn, log }, this.#context);
    } catch (error) {
      this.#turn.signal.throwIfAborted();
      this.#context.logger.error("An agent that is run as a tool could not go on.", {
        chat: chat.id,
        error: describeError(error),
      });
    }
  }

  /** Before the model is told something: it responds to that, and a response cannot be refused. */
  #countModelCall(): void {
    const refusal = this.#context.modelCalls.take(this.#turn.chat.owner);
    if (refusal !== undefined) throw new BridgeError("too_many", refusal);
  }

  #leave(): void {
    this.#entered?.leave();
    this.#entered = undefined;
  }

  async #enter(log: TurnLog, asks = false): Promise<LiveConnection> {
    if (this.#entered) return this.#entered;
    const connection = await this.#pool.open(this.#turn, asks);
    connection.enter({ turn: this.#turn, log });
    this.#entered = connection;
    return connection;
  }
}
