import type { Event } from "@google/adk";
import type { UIMessage, UIMessageChunk } from "ai";
import { BridgeError } from "../../protocol/index.ts";
import type { Approval, NewLogEntry, Store } from "../../stores/index.ts";
import { interruption, outcomeChunks, questionChunks } from "../approval/outcome.ts";
import { describeError, type Logger } from "../support/index.ts";
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
import { totalUsage } from "./usage.ts";

export interface TurnLogOptions {
  store: Store;
  logger: Logger;
  chat: string;
  turn: string;
  reply: string;
  /** The user's message, unless the log has it already. */
  message?: UIMessage | undefined;
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

/** When to try again to write the end of a turn after the store failed. */
const retryMs = [50, 250, 1000, 4000];
/** Yield to the event loop after so many events: an agent may produce them without ever waiting. */
const yieldEvery = 64;

/** How long streamed text may wait to be written together with more. */
const gatherMs = 10;

type WithoutTurn<T> = T extends unknown ? Omit<T, "turn"> : never;
type Entry = WithoutTurn<NewLogEntry>;

/** Writes one turn to the log: the only writer of its chunks. Knows what the turn has shown so far. */
export class TurnLog {
  readonly #options: TurnLogOptions;
  #state: ChunkState = initialChunkState;
  #requests = 0;
  #events = 0;
  #completeEvents = 0;
  /** Calls that are shown without an outcome. */
  readonly #open = new Set<string>();
  /** Chunks that are not written yet. */
  #buffer: UIMessageChunk[] = [];
  #scheduled: NodeJS.Timeout | undefined;
  #writtenAt = 0;
  #written: Promise<unknown> = Promise.resolve();

  constructor(options: TurnLogOptions) {
    this.#options = options;
  }

  async begin(): Promise<void> {
    const { reply, message } = this.#options;
    await this.#append([
      { kind: "begin", reply, ...(message && { message }) },
      { kind: "chunk", chunk: { type: "start", messageId: reply } },
    ]);
  }

  /** Writes chunks; they are in the log when this returns. */
  async write(chunks: readonly UIMessageChunk[]): Promise<void> {
    for (const chunk of chunks) {
      if (chunk.type === "tool-input-available") this.#open.add(chunk.toolCallId);
      else if (chunk.type === "tool-output-available" || chunk.type === "tool-output-error")
        this.#open.delete(chunk.toolCallId);
    }
    this.#buffer.push(...chunks);
    await this.flush();
  }

  /**
   * Models stream many small pieces. After a pause a piece is written at once; pieces that follow quickly are written
   * together, because one transaction each would cost more than everything else.
   */
  #writeSoon(chunks: readonly UIMessageChunk[]): void {
    this.#buffer.push(...chunks);
    const wait = this.#writtenAt + gatherMs - performance.now();
    // If the store fails here, the next awaited write fails too.
    this.#scheduled ??= setTimeout(() => void this.flush().catch(() => undefined), Math.max(0, wait));
  }

  /** Writes the buffered chunks. */
  async flush(): Promise<void> {
    clearTimeout(this.#scheduled);
    this.#scheduled = undefined;
    const chunks = this.#buffer.splice(0);
    if (chunks.length === 0) return void (await this.#written);
    this.#writtenAt = performance.now();
    await this.#append(chunks.map((chunk) => ({ kind: "chunk", chunk })));
  }

  /** Appends one after the other, so the log keeps their order with any store. */
  async #append(entries: readonly Entry[]): Promise<void> {
    const { store, chat, turn } = this.#options;
    this.#written = this.#written.then(() =>
      store.append(
        chat,
        entries.map((entry) => ({ ...entry, turn })),
      ),
    );
    await this.#written;
  }

  async event(event: Event, inner: boolean): Promise<void> {
    this.#events += 1;
    if (this.#events % yieldEvery === 0) await new Promise((resolve) => setImmediate(resolve));
    if (!event.partial) this.#completeEvents += 1;
    const { maxEvents, agentTools } = this.#options;
    if (this.#completeEvents > maxEvents)
      throw new BridgeError("too_many", `The agent came to no end: more than ${maxEvents} events in one turn.`);
    const [state, chunks] = eventToChunks(this.#state, event, { inner, defer: (name) => agentTools.has(name) });
    this.#state = state;
    if (event.partial) this.#writeSoon(chunks);
    else await this.write(chunks);
  }

  /** Counts the turn's model requests, including those of agents run as tools. Returns a sentence past the limit. */
  countRequest(limit: number): string | undefined {
    this.#requests += 1;
    return this.#requests > limit ? `The model was asked ${limit} times and came to no end.` : undefined;
  }

  /** Counts the usage of an event that is not shown. */
  countUsage(event: Event): void {
    this.#state = withUsage(this.#state, event);
  }

  /** Shows the question about a held call. A call that is not gated is shown without one. */
  async ask(approval: Approval): Promise<void> {
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

  async finish(progress: Progress): Promise<void> {
    const isSilent = progress === "done" && this.#options.owesReply && !this.#state.shown;
    const { error = isSilent ? refusalText() : undefined, finishReason } = this.#state;
    if (error !== undefined) {
      const { logger, chat, turn } = this.#options;
      logger.warn("A reply ended with an error.", { chat, turn, error });
      return this.#giveUp(error);
    }
    await this.#close();
    const { modelName } = this.#options;
    await this.write([
      {
        type: "finish",
        finishReason: progress === "parked" ? "tool-calls" : finishReason,
        // A turn without a model call keeps the message's earlier usage.
        messageMetadata: {
          ...(this.#state.usage.size > 0 && { usage: totalUsage(this.#state.usage) }),
          modelVersion: modelName,
        },
      },
    ]);
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

  async end(): Promise<void> {
    try {
      await this.flush();
      await this.#append([{ kind: "end" }]);
    } catch (error) {
      await this.#endLater(error);
    }
  }

  /** Tries again for a while after the store failed: a turn without an end would keep its readers waiting. */
  async #endLater(cause: unknown): Promise<void> {
    const { store, logger, chat, turn } = this.#options;
    logger.error("Could not append the rest of a turn.", { chat, turn, error: describeError(cause) });
    const errorText = "The server could not store this reply to its end.";
    for (const ms of retryMs) {
      await new Promise((resolve) => setTimeout(resolve, ms));
      try {
        await store.append(chat, [
          { turn, kind: "chunk", chunk: { type: "error", errorText } },
          { turn, kind: "end" },
        ]);
        return;
      } catch (error) {
        logger.error("Could not append the end of a turn.", { chat, turn, error: describeError(error) });
      }
    }
    throw cause;
  }

  /** Ends shown calls that have no row and so get no outcome. Open calls would keep a stock client from sending. */
  async #interrupt(): Promise<void> {
    if (this.#open.size === 0) return;
    const rows = await this.#options.store.listApprovals({ chat: this.#options.chat });
    for (const { toolCallId } of rows) this.#open.delete(toolCallId);
    await this.write([...this.#open].map(interruption));
  }

  async #close(): Promise<void> {
    const [state, chunks] = closeStep(this.#state);
    this.#state = state;
    await this.write(chunks);
  }
}
