import type { Event } from "@google/adk";
import type { UIMessage, UIMessageChunk } from "ai";
import { BridgeError } from "../protocol/index.ts";
import type { Approval, NewLogEntry, Store } from "../stores/index.ts";
import {
  announceCall,
  type ChunkState,
  closeStep,
  countUsage,
  eventToChunks,
  initialChunkState,
  openStep,
  refusalText,
  totalUsage,
} from "./event-to-chunks.ts";
import { describeError, type Logger } from "./logger.ts";
import { interruption, outcomeChunks, questionChunks } from "./outcome.ts";

export interface TurnLogOptions {
  store: Store;
  logger: Logger;
  chat: string;
  turn: string;
  reply: string;
  /** The user's message, where the log does not show it yet. */
  message?: UIMessage;
  /** True for a turn that answers a message; after an outcome a model may have nothing to add. */
  owesAnswer: boolean;
  modelName: string;
  /** How many whole events one turn may have. */
  maxEvents: number;
  /** Names of the agents that are run as tools. */
  agentTools: ReadonlySet<string>;
}

/** How far a run got: to its end, or to calls that wait for somebody. */
export type Progress = "done" | "parked";

/** When to try again to end a turn that the store did not take. */
const retryMs = [50, 250, 1000, 4000];
/** A turn's events between two looks at everything else that waits: an agent may go on without waiting for anything. */
const breathEvery = 64;

/** How long words may wait for more. */
const gatherMs = 10;

type WithoutTurn<T> = T extends unknown ? Omit<T, "turn"> : never;
type Entry = WithoutTurn<NewLogEntry>;

/** What a turn has shown so far, and the only writer of its chunks. */
export class TurnLog {
  readonly #options: TurnLogOptions;
  #state: ChunkState = initialChunkState;
  #asked = 0;
  #events = 0;
  #whole = 0;
  /** Calls that were shown and have no outcome yet. */
  readonly #open = new Set<string>();
  /** Words that wait for the ones that came with them. */
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
   * A model's words come many to a packet, and faster than anybody reads. They are written at once after a pause, and
   * otherwise a few milliseconds' worth together: a transaction for each would cost more than everything else they need.
   */
  #writeSoon(chunks: readonly UIMessageChunk[]): void {
    this.#buffer.push(...chunks);
    const wait = this.#writtenAt + gatherMs - performance.now();
    // A store that fails fails the next write too, which is waited for.
    this.#scheduled ??= setTimeout(() => void this.flush().catch(() => undefined), Math.max(0, wait));
  }

  /** Writes what waits. */
  async flush(): Promise<void> {
    clearTimeout(this.#scheduled);
    this.#scheduled = undefined;
    const chunks = this.#buffer.splice(0);
    if (chunks.length === 0) return void (await this.#written);
    this.#writtenAt = performance.now();
    await this.#append(chunks.map((chunk) => ({ kind: "chunk", chunk })));
  }

  /** One append after the other, so that the log has them in their order whatever the store. */
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
    if (this.#events % breathEvery === 0) await new Promise((resolve) => setImmediate(resolve));
    if (!event.partial) this.#whole += 1;
    const { maxEvents, agentTools } = this.#options;
    if (this.#whole > maxEvents)
      throw new BridgeError("too_many", `The agent came to no end: more than ${maxEvents} events in one turn.`);
    const [state, chunks] = eventToChunks(this.#state, event, { inner, defer: (name) => agentTools.has(name) });
    this.#state = state;
    if (event.partial) this.#writeSoon(chunks);
    else await this.write(chunks);
  }

  /** Counts the turn's requests to models, those of agents run as tools too; a sentence where there were too many. */
  askModel(limit: number): string | undefined {
    this.#asked += 1;
    return this.#asked > limit ? `The model was asked ${limit} times and came to no end.` : undefined;
  }

  /** Usage that came in no event of its own. */
  count(event: Event): void {
    this.#state = countUsage(this.#state, event);
  }

  /** Asks a person about a held call; a call that only waits for the browser is shown without a question. */
  async ask(approval: Approval): Promise<void> {
    if (!approval.gated) return;
    const [announced, chunks] = announceCall(this.#state, approval.toolCallId);
    const [state, step] = openStep(announced);
    this.#state = state;
    await this.write([...chunks, ...step, ...questionChunks(approval)]);
  }

  /** An agent run as a tool appears with its outcome, see `ChunkOptions.defer`, unless it was asked about. */
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

  async writeStep(chunks: readonly UIMessageChunk[]): Promise<void> {
    const [opened, start] = openStep(this.#state);
    const [state, end] = closeStep(opened);
    this.#state = state;
    await this.write([...start, ...chunks, ...end]);
  }

  async finish(progress: Progress): Promise<void> {
    // After an outcome a model may have nothing to add; to a message it owes an answer.
    const isSilent = progress === "done" && this.#options.owesAnswer && !this.#state.shown;
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
        // A turn that asked no model leaves the numbers of the one that did.
        messageMetadata: {
          ...(this.#state.usage.size > 0 && { usage: totalUsage(this.#state) }),
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

  /** A store may fail for a moment. A turn without an end would keep its readers waiting until the next start. */
  async #endLater(cause: unknown): Promise<void> {
    const { store, logger, chat, turn } = this.#options;
    logger.error("A turn could not be written to its end.", { chat, turn, error: describeError(cause) });
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
        logger.error("Nor could its end.", { chat, turn, error: describeError(error) });
      }
    }
    throw cause;
  }

  /** Calls in no ledger will have no outcome; left open they would keep a stock chat from sending anything else. */
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
