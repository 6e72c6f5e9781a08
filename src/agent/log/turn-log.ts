import type { Event } from "@google/adk";
import type { UIMessage, UIMessageChunk } from "ai";
import { BridgeError } from "../../protocol/index.ts";
import type { Approval, Store, TurnOrigin } from "../../stores/index.ts";
import { interruption, outcomeChunks, questionChunks } from "../approval/outcome.ts";
import { describeError, type Logger } from "../support/index.ts";
import { earlierUsage } from "./earlier-usage.ts";
import {
  announceCall,
  type ChunkState,
  closeStep,
  eventToChunks,
  initialChunkState,
  openStep,
  withUsage,
} from "./event-to-chunks.ts";
import { refusalText } from "./finish-reason.ts";
import { LogWriter } from "./log-writer.ts";
import { isLastChunk } from "./read-turn.ts";
import { TurnLimits } from "./turn-limits.ts";
import { addUsage, totalUsage, type Usage } from "./usage.ts";

export interface TurnLogOptions {
  store: Store;
  logger: Logger;
  chat: string;
  turn: string;
  reply: string;
  /** The user's message, unless the log has it already. */
  message?: UIMessage | undefined;
  /** How the model is talked to, and whose message the turn comes from. */
  origin: TurnOrigin;
  /** True when another node goes on with the turn: this one may write nothing more, also if it has the chat again. */
  isLeft: () => boolean;
  /** The first chunks of the turn, if the log has its beginning already. */
  begun?: readonly UIMessageChunk[] | undefined;
  /** True for a turn that replies to a message: the model must say something. After an outcome it need not. */
  owesReply: boolean;
  modelName: string;
  /** How many complete events one turn may have. */
  maxEvents: number;
  /** Names of the agents that are run as tools. */
  agentTools: ReadonlySet<string>;
}

/** How far a conversation got: to its end, or to calls that wait for a decision or a result. */
export type Progress = "done" | "parked";

/** Yield to the event loop after so many events: an agent may produce them without ever waiting. */
const yieldEvery = 64;

/** Writes one turn to the log: the only writer of its chunks. Knows what the turn has shown so far. */
export class TurnLog {
  readonly #options: TurnLogOptions;
  #state: ChunkState = initialChunkState;
  #events = 0;
  /** Calls that are shown without an outcome. */
  readonly #open = new Set<string>();
  /** True when the log has the last chunk of the reply. */
  #isWhole = false;
  readonly #writer: LogWriter;
  readonly #limits: TurnLimits;

  constructor(options: TurnLogOptions) {
    this.#options = options;
    this.#writer = new LogWriter(options);
    this.#limits = new TurnLimits(options.maxEvents);
  }

  async begin(): Promise<void> {
    const { message, begun } = this.#options;
    if (begun) this.#writer.goOn(begun);
    else await this.#writer.begin(message);
  }

  /** Writes chunks; they are in the log when this returns. */
  async write(chunks: readonly UIMessageChunk[]): Promise<void> {
    for (const chunk of chunks) {
      if (chunk.type === "tool-input-available") this.#open.add(chunk.toolCallId);
      else if (chunk.type === "tool-output-available" || chunk.type === "tool-output-error")
        this.#open.delete(chunk.toolCallId);
    }
    await this.#writer.write(chunks);
    this.#isWhole ||= chunks.some(isLastChunk);
  }

  /** Writes what is buffered. */
  flush(): Promise<void> {
    return this.#writer.flush();
  }

  /** True when this process has written the end of the turn. */
  get hasEnded(): boolean {
    return this.#writer.hasEnded;
  }

  /** Writes the end of the turn. */
  end(): Promise<void> {
    return this.#writer.end({ isWhole: this.#isWhole });
  }

  /** Shows an ADK event; `inner` if it is from an agent run as a tool. */
  async event(event: Event, inner: boolean): Promise<void> {
    this.#events += 1;
    if (this.#events % yieldEvery === 0) await new Promise((resolve) => setImmediate(resolve));
    if (!event.partial) this.#limits.countEvent();
    const { agentTools } = this.#options;
    const [state, chunks] = eventToChunks(this.#state, event, { inner, defer: (name) => agentTools.has(name) });
    this.#state = state;
    if (event.partial) this.#writer.writeSoon(chunks);
    else await this.write(chunks);
  }

  /** Counts the turn's model requests, including those of agents run as tools. Returns a sentence past the limit. */
  countRequest(limit: number): string | undefined {
    return this.#limits.countRequest(limit);
  }

  /** Counts the usage of an event that is not shown. */
  countUsage(event: Event): void {
    this.#state = withUsage(this.#state, event);
  }

  /** Shows the question about a held call. A call that is not gated is shown without one. */
  async showQuestion(approval: Approval): Promise<void> {
    if (!approval.gated) return;
    const [announced, chunks] = announceCall(this.#state, approval.toolCallId);
    const [state, step] = openStep(announced);
    this.#state = state;
    await this.write([...chunks, ...step, ...questionChunks(approval)]);
  }

  /** Shows the outcome of an agent run as a tool. Unless the call was gated, the call appears here too (see `defer`). */
  async showInner(approval: Approval, answered?: boolean): Promise<void> {
    const { toolCallId, toolName, gated } = approval;
    const outcome = outcomeChunks(approval, answered);
    if (gated) return this.write(outcome);
    const input = JSON.parse(approval.input) as unknown;
    await this.writeStep([
      { type: "tool-input-start", toolCallId, toolName },
      { type: "tool-input-available", toolCallId, toolName, input },
      ...outcome,
    ]);
  }

  /** Writes chunks as a step of their own. */
  async writeStep(chunks: readonly UIMessageChunk[]): Promise<void> {
    const [opened, start] = openStep(this.#state);
    const [state, end] = closeStep(opened);
    this.#state = state;
    await this.write([...start, ...chunks, ...end]);
  }

  /** Ends the reply. Returns `failed` if it ends with an error, of the model for example. */
  async finish(progress: Progress): Promise<Progress | "failed"> {
    const isSilent = progress === "done" && this.#options.owesReply && !this.#state.shown;
    const { error = isSilent ? refusalText() : undefined, finishReason } = this.#state;
    if (error !== undefined) {
      const { logger, chat, turn } = this.#options;
      logger.warn("A reply ended with an error.", { chat, turn, error });
      await this.#giveUp(error);
      return "failed";
    }
    await this.#close();
    const { modelName } = this.#options;
    const usage = await this.#messageUsage();
    await this.write([
      {
        type: "finish",
        finishReason: progress === "parked" ? "tool-calls" : finishReason,
        messageMetadata: { ...(usage && { usage }), modelVersion: modelName },
      },
    ]);
    return progress;
  }

  async abort(): Promise<void> {
    await this.#interrupt();
    await this.#close();
    await this.write([{ type: "abort" }]);
  }

  async fail(error: unknown): Promise<void> {
    const safe = error instanceof BridgeError;
    if (!safe)
      this.#options.logger.error("A turn failed.", {
        chat: this.#options.chat,
        turn: this.#options.turn,
        error: describeError(error),
      });
    await this.#giveUp(safe ? error.message : "Something went wrong on the server. The details are in its log.");
  }

  async #giveUp(errorText: string): Promise<void> {
    await this.#interrupt();
    await this.#close();
    await this.write([{ type: "error", errorText }]);
  }

  /** Ends shown calls that have no row and so get no outcome. Open calls would keep a stock client from sending. */
  async #interrupt(): Promise<void> {
    if (this.#open.size === 0) return;
    const { store, chat } = this.#options;
    const rows = await store.listApprovals({ chat, about: [...this.#open] });
    for (const { toolCallId } of rows) this.#open.delete(toolCallId);
    await this.write([...this.#open].map(interruption));
  }

  /** The usage of the whole message: of this turn and of those that it continues. Undefined without a model call. */
  async #messageUsage(): Promise<Usage | undefined> {
    const { store, chat, reply, owesReply } = this.#options;
    const { usage } = this.#state;
    // A turn that replies to a message begins a new one.
    const earlier = owesReply ? undefined : await earlierUsage(store, chat, reply);
    if (usage.size === 0) return earlier;
    return earlier ? addUsage(earlier, totalUsage(usage)) : totalUsage(usage);
  }

  async #close(): Promise<void> {
    const [state, chunks] = closeStep(this.#state);
    this.#state = state;
    await this.write(chunks);
  }
}
