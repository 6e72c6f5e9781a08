import type { UIMessage, UIMessageChunk } from "ai";
import type { LogEntry } from "../../agent/index.ts";
import { BridgeError } from "../../protocol/index.ts";
import type { ChatFrameWriter } from "./chat-frame-writer.ts";
import { TrimmedTurns } from "./trimmed-turns.ts";
import type { TurnPlace } from "./sent-messages.ts";
import { type ChatOutput, TurnJoiner } from "./turn-joiner.ts";
import type { WireContext } from "./wire-context.ts";

/** Where in a chat's log a socket begins. */
export type Start =
  /**
   * At the beginning of a turn; `message` is what the turn continues, for a client that does not have it, and `chatId` the
   * chat, for a client that has named none.
   */
  | { kind: "turn"; turn: TurnPlace; message?: UIMessage | undefined; chatId?: string | undefined }
  /** After the entry that the client has seen last. */
  | { kind: "after"; sequence: number }
  /** At the first turn that begins after this sequence number. */
  | { kind: "next"; sequence: number };

/** A reply that is not in the log. */
interface Aside {
  turn: string;
  chunks: readonly UIMessageChunk[];
}

/** How far before the client's last entry the beginning of its turn is looked for first. */
const nearby = 1024;

/**
 * Follows one chat: reads its log from `start` until `stop`, at the pace of the client, and writes every turn. Keeps no
 * chunks of the log.
 */
export class ChatFollower {
  readonly chat: string;
  readonly #context: WireContext;
  readonly #frames: ChatFrameWriter;
  readonly #reader = new AbortController();
  #joiner: TurnJoiner;
  /** Replies that wait until the turn that is being sent is over. */
  #asides: Aside[] = [];
  /** The last entry of the log that the client was told about. */
  #sequence: number;
  /** True once the chat was there. */
  #hasFollowed = false;
  /** The text of the last error that was sent. */
  #lastError: string | undefined;

  constructor(context: WireContext, frames: ChatFrameWriter, chat: string, start: Start) {
    this.chat = chat;
    this.#context = context;
    this.#frames = frames;
    this.#joiner = this.#newJoiner();
    this.#sequence = start.kind === "turn" ? start.turn.after : start.sequence;
    this.#read(start, this.#reader.signal).catch((error: unknown) => {
      if (!this.#reader.signal.aborted) context.fail(error);
    });
  }

  /** True while a turn is being sent. */
  get isSending(): boolean {
    return this.#joiner.isSending;
  }

  stop(): void {
    this.#reader.abort();
  }

  /** Sends a reply that is not in the log as a turn of its own, between two turns of the log. */
  addAside(aside: Aside): void {
    this.#asides.push(aside);
    this.#sendAsides();
  }

  async #read(start: Start, signal: AbortSignal): Promise<void> {
    let from = start;
    while (!signal.aborted) {
      try {
        if (await this.#readFrom(from, nearby, signal)) return;
        // The client's turn began earlier than where reading began.
        this.#joiner = this.#newJoiner();
        await this.#readFrom(from, Infinity, signal);
      } catch (error) {
        if (!(error instanceof BridgeError) || error.code !== "not_found") throw error;
        if (this.#hasFollowed && !signal.aborted) this.#tellDeleted(error.message);
        // The chat does not exist yet or any more, so the client has seen nothing of it.
        from = { kind: "next", sequence: 0 };
        await this.#context.arrivals.wait(this.#context.owner, this.chat, signal);
      }
    }
  }

  /** Reads until the signal aborts; false if reading has to begin earlier. */
  async #readFrom(start: Start, lookBack: number, signal: AbortSignal): Promise<boolean> {
    const { bridge, owner, writer } = this.#context;
    const seen = start.kind === "after" ? start.sequence : 0;
    const after = firstSequence(start, lookBack);
    const view = this.#context.turnView(start.kind === "turn" ? { replay: start.message, chatId: start.chatId } : {});
    // Whether a turn continues a message depends on the turn before it, so both must be read from their beginnings.
    let begins = after === 0 ? 2 : 0;
    let reached = start.kind !== "turn";
    // A turn that failed before it began has no entry in the log. Then the next turn is the first.
    if (start.kind === "turn") {
      const reach = () => void (reached = true);
      start.turn.done?.then(reach, reach);
    }
    const { confirmation } = this.#context;
    const trimmed = new TrimmedTurns({ bridge, owner, chat: this.chat, confirmation, seen }, after);
    const followed = await bridge.follow(owner, this.chat, { after, signal });
    this.#hasFollowed = true;
    for await (const entries of this.#follow(followed, after)) {
      for (const logged of entries) {
        reached ||= start.kind === "turn" && logged.turn === start.turn.id;
        if (start.kind === "after" && logged.sequence > seen && begins < 2) return false;
        const isSkipped = !reached || logged.sequence <= seen;
        if (isSkipped) trimmed.skip(logged);
        if (!reached) continue;
        if (isSkipped) {
          if (logged.kind === "begin") begins += 1;
          view.skip(logged);
          this.#joiner.next(logged, logged.kind === "chunk" ? [logged.chunk] : []);
          continue;
        }
        for (const { entry, isMade, replay } of await trimmed.fill(logged)) {
          if (replay) view.replay(replay);
          const chunks = await view.next(entry);
          if (signal.aborted) return true;
          this.#send(entry, chunks, isMade);
          if (writer.isFull) await writer.flushed();
          if (signal.aborted) return true;
        }
      }
    }
    return true;
  }

  #newJoiner(): TurnJoiner {
    return new TurnJoiner({ waitsForQuestionsOnly: !this.#context.numbered });
  }

  /** The entries of a log. Those that were there before are read when it is this owner's turn: a log may be long. */
  async *#follow(log: AsyncGenerator<LogEntry[]>, after: number): AsyncGenerator<LogEntry[]> {
    const { sequence } = await this.#context.bridge.position(this.#context.owner, this.chat);
    let read = after;
    try {
      for (;;) {
        const next = await (read < sequence ? this.#context.catchUp(() => log.next()) : log.next());
        if (next.done) return;
        read = next.value.at(-1)?.sequence ?? read;
        yield next.value;
      }
    } finally {
      await log.return(undefined);
    }
  }

  #send(entry: LogEntry, chunks: readonly UIMessageChunk[], isMade = false): void {
    const outputs = this.#joiner.next(entry, chunks);
    if (entry.kind === "chunk" && entry.chunk.type === "error") this.#lastError = entry.chunk.errorText;
    if (!isMade) this.#sequence = entry.sequence;
    this.#frames.send(isMade ? withoutNumber(outputs) : outputs);
    if (this.#asides.length > 0) this.#sendAsides();
  }

  /** The chat is gone. The socket goes on following its id, which may be used again. */
  #tellDeleted(errorText: string): void {
    const isTold = this.#lastError === errorText;
    if (this.#joiner.isSending || (!this.#context.numbered && !isTold)) {
      if (!isTold) this.#frames.event({ type: "error", errorText });
      this.#frames.done();
    }
    if (this.#context.numbered) this.#frames.control({ type: "deleted", id: this.chat });
    this.#hasFollowed = false;
    this.#lastError = undefined;
    this.#sequence = 0;
    this.#asides = [];
    this.#joiner = this.#newJoiner();
  }

  #sendAsides(): void {
    while (!this.#joiner.isSending) {
      const aside = this.#asides.shift();
      if (!aside) return;
      const { turn, chunks } = aside;
      const start = chunks.find((chunk) => chunk.type === "start");
      const place = { turn, sequence: this.#sequence, at: 0 };
      this.#frames.send(this.#joiner.next({ ...place, kind: "begin", reply: start?.messageId ?? turn }));
      for (const chunk of chunks)
        this.#frames.send(withoutNumber(this.#joiner.next({ ...place, kind: "chunk", chunk }, [chunk])));
      this.#frames.send(withoutNumber(this.#joiner.next({ ...place, kind: "end" })));
    }
  }
}

/** Chunks that are not in the log cannot be resumed, so they carry no number. */
function withoutNumber(outputs: readonly ChatOutput[]): ChatOutput[] {
  return outputs.map((output) =>
    output.kind === "chunk" || output.kind === "done" ? { ...output, sequence: undefined } : output,
  );
}

function firstSequence(start: Start, lookBack: number): number {
  switch (start.kind) {
    case "turn":
      return start.turn.after;
    case "after":
      return Math.max(0, start.sequence - lookBack);
    case "next":
      return start.sequence;
  }
}
