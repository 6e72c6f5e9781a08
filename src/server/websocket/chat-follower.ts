import type { UIMessage, UIMessageChunk } from "ai";
import type { LogEntry, LogReader } from "../../agent/index.ts";
import { BridgeError } from "../../protocol/index.ts";
import type { TurnView } from "../views/index.ts";
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

/** One reading of the log, from a place on. */
interface Passage {
  /** It begins after this entry. */
  readonly after: number;
  /** True if entries may come after it that were written before. */
  readonly catchesUp: boolean;
  /** The last entry that the client has, if it has named one. */
  readonly seen: number | undefined;
  /** The turn that is sent first; undefined once it has begun. */
  first: string | undefined;
  /** How many turns that the client has were read from their beginnings. */
  begins: number;
  readonly view: TurnView;
  readonly trimmed: TrimmedTurns;
  readonly joiner: TurnJoiner;
}

/**
 * Follows one chat: reads its log from `start` until `stop`, at the pace of the client, and writes every turn. Keeps no
 * chunks of the log. Most sockets are idle, so nothing waits between two turns but the watch of the log.
 */
export class ChatFollower {
  readonly chat: string;
  readonly #context: WireContext;
  readonly #frames: ChatFrameWriter;
  #passage: Passage;
  #log: LogReader | undefined;
  /** Ends the wait for a chat that does not exist. */
  #stopWaiting: (() => void) | undefined;
  #isReading = false;
  #isStopped = false;
  /** Replies that wait until the turn that is being sent is over. */
  #asides: Aside[] | undefined;
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
    this.#passage = newPassage(context, chat, start, nearby);
    this.#sequence = start.kind === "turn" ? start.turn.after : start.sequence;
    void this.#read();
  }

  /** True while a turn is being sent. */
  get isSending(): boolean {
    return this.#passage.joiner.isSending;
  }

  stop(): void {
    this.#isStopped = true;
    this.#log?.close();
    this.#stopWaiting?.();
  }

  /** Sends a reply that is not in the log as a turn of its own, between two turns of the log. */
  addAside(aside: Aside): void {
    (this.#asides ??= []).push(aside);
    this.#sendAsides();
  }

  /** Reads until there is no more; the watch of the log calls this again. Never throws. */
  async #read(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      do await this.#readOn();
      while (!this.#isStopped && this.#log?.hasNews !== false);
    } catch (error) {
      if (!this.#isStopped) this.#onError(error);
    }
    this.#isReading = false;
  }

  /** Reads and sends the next entries. */
  async #readOn(): Promise<void> {
    const log = (this.#log ??= await this.#open());
    if (this.#isStopped) return log.close();
    // A log may be long, so what was written before is read when it is this owner's turn.
    const entries = await (log.isBehind && this.#passage.catchesUp
      ? this.#context.catchUp(() => log.read())
      : log.read());
    if (this.#isStopped || (await this.#write(entries)) || this.#isStopped) return;
    // The client's turn began earlier than where reading began.
    log.close();
    this.#log = undefined;
    const start: Start = { kind: "after", sequence: this.#passage.seen ?? 0 };
    this.#passage = newPassage(this.#context, this.chat, start, Infinity);
  }

  async #open(): Promise<LogReader> {
    const { bridge, owner } = this.#context;
    const { after } = this.#passage;
    const log = await bridge.follow(owner, this.chat, { after, onNews: () => void this.#read() });
    this.#hasFollowed = true;
    return log;
  }

  #onError(error: unknown): void {
    if (!(error instanceof BridgeError) || error.code !== "not_found") {
      // The socket is closed, which takes its time. What is written meanwhile is not for it any more.
      this.stop();
      return this.#context.fail(error);
    }
    if (this.#hasFollowed) this.#tellDeleted(error.message);
    this.#log?.close();
    this.#log = undefined;
    // The chat does not exist yet or any more, so the client has seen nothing of it.
    this.#passage = newPassage(this.#context, this.chat, { kind: "next", sequence: 0 }, nearby);
    this.#stopWaiting = this.#context.arrivals.wait(this.#context.owner, this.chat, () => void this.#read());
  }

  /** Sends entries of the log; false if reading has to begin earlier. */
  async #write(entries: readonly LogEntry[]): Promise<boolean> {
    const { writer } = this.#context;
    const passage = this.#passage;
    const { seen, view, trimmed, joiner } = passage;
    for (const logged of entries) {
      if (logged.turn === passage.first) passage.first = undefined;
      const isBefore = passage.first !== undefined;
      const isSeen = seen !== undefined && logged.sequence <= seen;
      if (seen !== undefined && !isSeen && passage.begins < 2) return false;
      if (isBefore || isSeen) trimmed.skip(logged);
      if (isBefore) continue;
      if (isSeen) {
        if (logged.kind === "begin") passage.begins += 1;
        view.skip(logged);
        joiner.next(logged, logged.kind === "chunk" ? [logged.chunk] : []);
        continue;
      }
      for (const { entry, isMade, replay } of await trimmed.fill(logged)) {
        if (replay) view.replay(replay);
        const chunks = await view.next(entry);
        if (this.#isStopped) return true;
        this.#send(entry, chunks, isMade);
        if (writer.isFull) await writer.flushed();
        if (this.#isStopped) return true;
      }
    }
    return true;
  }

  #send(entry: LogEntry, chunks: readonly UIMessageChunk[], isMade = false): void {
    const outputs = this.#passage.joiner.next(entry, chunks);
    if (entry.kind === "chunk" && entry.chunk.type === "error") this.#lastError = entry.chunk.errorText;
    if (!isMade) this.#sequence = entry.sequence;
    this.#frames.send(isMade ? withoutNumber(outputs) : outputs);
    this.#sendAsides();
  }

  /** The chat is gone. The socket goes on following its id, which may be used again. */
  #tellDeleted(errorText: string): void {
    const isTold = this.#lastError === errorText;
    if (this.isSending || (!this.#context.numbered && !isTold)) {
      if (!isTold) this.#frames.event({ type: "error", errorText });
      this.#frames.done();
    }
    if (this.#context.numbered) this.#frames.control({ type: "deleted", id: this.chat });
    this.#hasFollowed = false;
    this.#lastError = undefined;
    this.#sequence = 0;
    this.#asides = undefined;
  }

  #sendAsides(): void {
    const { joiner } = this.#passage;
    while (!joiner.isSending) {
      const aside = this.#asides?.shift();
      if (!aside) return;
      const { turn, chunks } = aside;
      const start = chunks.find((chunk) => chunk.type === "start");
      const place = { turn, sequence: this.#sequence, at: 0 };
      this.#frames.send(joiner.next({ ...place, kind: "begin", reply: start?.messageId ?? turn }));
      for (const chunk of chunks)
        this.#frames.send(withoutNumber(joiner.next({ ...place, kind: "chunk", chunk }, [chunk])));
      this.#frames.send(withoutNumber(joiner.next({ ...place, kind: "end" })));
    }
  }
}

/** Chunks that are not in the log cannot be resumed, so they carry no number. */
function withoutNumber(outputs: readonly ChatOutput[]): ChatOutput[] {
  return outputs.map((output) =>
    output.kind === "chunk" || output.kind === "done" ? { ...output, sequence: undefined } : output,
  );
}

function newPassage(context: WireContext, chat: string, start: Start, lookBack: number): Passage {
  const after = firstSequence(start, lookBack);
  const seen = start.kind === "after" ? start.sequence : undefined;
  const isTurn = start.kind === "turn";
  const passage: Passage = {
    after,
    catchesUp: start.kind !== "next",
    seen,
    first: isTurn ? start.turn.id : undefined,
    // Whether a turn continues a message depends on the turn before it, so both must be read from their beginnings.
    begins: after === 0 ? 2 : 0,
    view: context.turnView(isTurn ? { replay: start.message, chatId: start.chatId } : undefined),
    trimmed: new TrimmedTurns(context, { chat, seen: seen ?? 0, after }),
    joiner: new TurnJoiner({ waitsForQuestionsOnly: !context.numbered }),
  };
  // A turn that failed before it began has no entry in the log. Then the next turn is the first.
  const reach = () => void (passage.first = undefined);
  if (isTurn) start.turn.done?.then(reach, reach);
  return passage;
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
