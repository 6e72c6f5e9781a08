import type { UIMessage, UIMessageChunk } from "ai";
import type { LogEntry, Reply } from "../agent/index.ts";
import { BridgeError, type ControlFrame, encodeSseEvent, sseDone } from "../protocol/index.ts";
import { type Translate, translator } from "./dialect.ts";
import { findRunning, replaying } from "./replay.ts";
import { type SeedOutput, SeedTurns } from "./seed-turns.ts";
import type { Refusal, WireContext } from "./wire.ts";

/** Where a turn is in the log, running or not. */
export interface TurnPlace {
  id: string;
  /** Its entries come behind this sequence number. */
  after: number;
  done?: Promise<unknown>;
}

/** From where a socket follows a chat. */
type Start =
  /** From the beginning of a turn; with the message it goes on with, for a reader that has nothing. */
  | { kind: "turn"; turn: TurnPlace; message?: UIMessage }
  /** Behind what the client says it has. */
  | { kind: "behind"; sequence: number }
  /** The first turn that begins from here on. */
  | { kind: "next"; sequence: number };

/** Where to look first for the beginning of the turn that a returning client was in the middle of. */
const nearby = 1024;

/**
 * The frames of the seeds: server-sent events as text, one per frame. The socket follows one chat and gets every turn of
 * it, whoever caused it. It reads the log at the pace of its client and keeps nothing.
 */
export class SeedWire {
  readonly #context: WireContext;
  readonly #numbered: boolean;
  #chat: string | undefined;
  #leave: (() => void) | undefined;
  #following: AbortController | undefined;
  #turns = new SeedTurns();
  /** Replies that are in no log, until the turn that is being sent is over. */
  #asides: { turn: string; chunks: UIMessageChunk[] }[] = [];
  /** The last one of the log that this socket was told of. */
  #sequence = 0;
  #closed = false;

  constructor(context: WireContext, { numbered }: { numbered: boolean }) {
    this.#context = context;
    this.#numbered = numbered;
  }

  /** The chat this socket follows. */
  get chat(): string | undefined {
    return this.#chat;
  }

  /** The reply to a frame: the turn it caused is followed, or a few chunks are said between turns. */
  async reply(
    reply: Reply | { turn: TurnPlace },
    { chat, requestId }: { chat: string; requestId: string | undefined },
  ): Promise<void> {
    if (this.#closed) return;
    if ("turn" in reply) {
      if (this.#chat !== chat) this.#follow(chat, { kind: "turn", turn: reply.turn });
      this.#accept(requestId, reply.turn.id);
      return;
    }
    const { bridge, owner } = this.#context;
    const { sequence } = await bridge.approvals(owner, { chat });
    if (this.#closed) return;
    if (this.#chat !== chat) this.#follow(chat, { kind: "next", sequence });
    const turn = `aside_${crypto.randomUUID()}`;
    this.#accept(requestId, turn);
    this.#collect(reply.chunks(), turn).catch((error: unknown) => this.#context.fail(error));
  }

  async attach(chat: string, after: number | undefined): Promise<void> {
    const { bridge, owner, confirmation } = this.#context;
    for (;;) {
      const found = after === undefined ? await findRunning(bridge, owner, chat, confirmation) : undefined;
      const { sequence, running } = await bridge.approvals(owner, { chat });
      if (this.#closed) return;
      // A turn that has begun meanwhile is one to replay.
      if (after === undefined && !found && running) continue;
      this.#leaveChat(chat);
      this.#control({
        type: "attached",
        id: chat,
        sequence,
        running: after === undefined ? found !== undefined : running,
      });
      if (found) this.#follow(chat, { kind: "turn", turn: found.reading.turn, message: found.message });
      else if (after === undefined) this.#follow(chat, { kind: "next", sequence });
      else this.#follow(chat, { kind: "behind", sequence: Math.min(after, sequence) });
      return;
    }
  }

  async stop(): Promise<void> {
    if (this.#chat === undefined) throw new BridgeError("invalid", "This socket follows no chat yet.");
    await this.#context.bridge.stop(this.#context.owner, this.#chat);
  }

  pong(timestamp: number | string): void {
    this.#control({ type: "pong", timestamp });
  }

  refuse({ code, message }: Refusal, requestId: string | undefined): void {
    if (this.#numbered && requestId !== undefined) this.#control({ type: "refused", requestId, code, message });
    else if (this.#turns.isSending)
      this.#event({ type: "data-refusal", transient: true, data: { code, message } } satisfies UIMessageChunk);
    else {
      this.#event({ type: "error", errorText: message } satisfies UIMessageChunk);
      this.#done();
    }
  }

  close(): void {
    this.#closed = true;
    this.#following?.abort();
    this.#leave?.();
    this.#leave = undefined;
  }

  #follow(chat: string, start: Start): void {
    const { bridge, owner } = this.#context;
    this.#leaveChat(chat);
    this.#leave ??= bridge.attach(owner, chat);
    this.#chat = chat;
    this.#turns = new SeedTurns();
    this.#asides = [];
    this.#sequence = start.kind === "turn" ? start.turn.after : start.sequence;
    const following = new AbortController();
    this.#following = following;
    this.#read(chat, start, following.signal).catch((error: unknown) => {
      if (!following.signal.aborted) this.#context.fail(error);
    });
  }

  /** Stops reading. Of a turn that is left in the middle for another chat, this socket hears no more. */
  #leaveChat(next: string): void {
    this.#following?.abort();
    if (this.#chat === next) return;
    if (this.#turns.isSending) this.#done();
    this.#turns = new SeedTurns();
    this.#leave?.();
    this.#leave = undefined;
  }

  async #read(chat: string, start: Start, signal: AbortSignal): Promise<void> {
    let from = start;
    while (!signal.aborted) {
      try {
        if (await this.#readFrom(chat, from, nearby, signal)) return;
        // The turn this client was in began earlier than we looked.
        this.#turns = new SeedTurns();
        await this.#readFrom(chat, from, Infinity, signal);
      } catch (error) {
        if (!(error instanceof BridgeError) || error.code !== "not_found") throw error;
        // Nobody has said anything in this chat yet: then there will be everything to tell.
        from = { kind: "next", sequence: 0 };
        await this.#context.arrivals.wait(this.#context.owner, chat, signal);
      }
    }
  }

  /** Reads until the signal aborts; false when it is clear that reading had to begin earlier. */
  async #readFrom(chat: string, start: Start, lookBack: number, signal: AbortSignal): Promise<boolean> {
    const { bridge, owner, writer } = this.#context;
    const has = start.kind === "behind" ? start.sequence : 0;
    const after = firstSequence(start, lookBack);
    const translation = this.#translation(start);
    // What a turn is told depends on the one before it, so both must have been read from their beginnings.
    let begins = after === 0 ? 2 : 0;
    let reached = start.kind !== "turn";
    // A turn that could not even begin is not in the log.
    if (start.kind === "turn") {
      const reach = () => void (reached = true);
      start.turn.done?.then(reach, reach);
    }
    for await (const entries of await bridge.follow(owner, chat, { after, signal })) {
      for (const entry of entries) {
        reached ||= start.kind === "turn" && entry.turn === start.turn.id;
        if (!reached) continue;
        if (entry.sequence <= has) {
          if (entry.kind === "begin") begins += 1;
          if (entry.sequence === has && begins < 2) return false;
          translation.skip(entry);
          this.#turns.next(entry, entry.kind === "chunk" ? [entry.chunk] : []);
          continue;
        }
        const chunks = await translation.next(entry);
        if (signal.aborted) return true;
        this.#say(entry, chunks);
        if (writer.isFull) await writer.flushed();
        if (signal.aborted) return true;
      }
    }
    return true;
  }

  #translation(start: Start): TurnTranslation {
    const { bridge, owner, confirmation } = this.#context;
    let before = start.kind === "turn" ? start.message : undefined;
    return new TurnTranslation(confirmation !== "approval", () => {
      const translate = replaying(
        translator(confirmation, (id) => bridge.approval(owner, id)),
        before,
      );
      before = undefined;
      return translate;
    });
  }

  /** A reply that is in no log, as if it were: whole, and between two turns. */
  async #collect(chunks: AsyncGenerator<UIMessageChunk>, turn: string): Promise<void> {
    const chat = this.#chat;
    const { bridge, owner, confirmation } = this.#context;
    const translate = translator(confirmation, (id) => bridge.approval(owner, id));
    const said: UIMessageChunk[] = [];
    for await (const chunk of chunks) said.push(...(await translate(chunk)));
    if (this.#closed || this.#chat !== chat) return;
    this.#asides.push({ turn, chunks: said });
    this.#sayAsides();
  }

  #sayAsides(): void {
    while (!this.#turns.isSending) {
      const aside = this.#asides.shift();
      if (!aside) return;
      const { turn, chunks } = aside;
      const start = chunks.find((chunk) => chunk.type === "start");
      const place = { turn, sequence: this.#sequence, at: 0 };
      this.#send(this.#turns.next({ ...place, kind: "begin", reply: start?.messageId ?? turn }));
      for (const chunk of chunks)
        this.#send(withoutNumber(this.#turns.next({ ...place, kind: "chunk", chunk }, [chunk])));
      this.#send(withoutNumber(this.#turns.next({ ...place, kind: "end" })));
    }
  }

  #say(entry: LogEntry, chunks: readonly UIMessageChunk[]): void {
    this.#sequence = entry.sequence;
    this.#send(this.#turns.next(entry, chunks));
    if (this.#asides.length > 0) this.#sayAsides();
  }

  #send(outputs: readonly SeedOutput[]): void {
    for (const output of outputs) {
      switch (output.kind) {
        case "chunk":
          this.#event(output.chunk, output.sequence);
          break;
        case "done":
          this.#done(output.sequence);
          break;
        case "turn": {
          const { turn, reply, sequence } = output;
          if (this.#numbered) this.#control({ type: "turn", turn, reply, sequence });
          break;
        }
        case "parked": {
          const { turn, sequence, endsWithStep } = output;
          if (this.#numbered) this.#control({ type: "parked", turn, sequence });
          else if (!endsWithStep) {
            // The end of a step is how a client without `parked` knows that the reply waits.
            this.#event({ type: "start-step" });
            this.#event({ type: "finish-step" });
          }
          break;
        }
      }
    }
  }

  #accept(requestId: string | undefined, turn: string): void {
    if (this.#numbered && requestId !== undefined) this.#control({ type: "accepted", requestId, turn });
  }

  #event(chunk: UIMessageChunk, sequence?: number): void {
    this.#context.writer.send(encodeSseEvent(chunk, this.#numbered ? sequence : undefined));
  }

  #done(sequence?: number): void {
    this.#context.writer.send(this.#numbered && sequence !== undefined ? `id: ${sequence}\n${sseDone}` : sseDone);
  }

  #control(frame: ControlFrame): void {
    this.#context.writer.send(JSON.stringify(frame));
  }
}

/** What is in no log has no place in it that a client could come back to. */
function withoutNumber(outputs: readonly SeedOutput[]): SeedOutput[] {
  return outputs.map((output) =>
    output.kind === "chunk" || output.kind === "done" ? { ...output, sequence: undefined } : output,
  );
}

function firstSequence(start: Start, lookBack: number): number {
  switch (start.kind) {
    case "turn":
      return start.turn.after;
    case "behind":
      return Math.max(0, start.sequence - lookBack);
    case "next":
      return start.sequence;
  }
}

/** A translator per turn that has seen it from its beginning, also the part that the client has. */
class TurnTranslation {
  readonly #remembers: boolean;
  readonly #fresh: () => Translate;
  #translate: Translate | undefined;
  #skipped: UIMessageChunk[] = [];

  constructor(remembers: boolean, fresh: () => Translate) {
    this.#remembers = remembers;
    this.#fresh = fresh;
  }

  skip(entry: LogEntry): void {
    if (entry.kind === "begin") this.#skipped = [];
    else if (entry.kind === "chunk" && this.#remembers) this.#skipped.push(entry.chunk);
  }

  async next(entry: LogEntry): Promise<UIMessageChunk[]> {
    if (entry.kind === "begin") {
      this.#skipped = [];
      this.#translate = this.#fresh();
    }
    if (entry.kind !== "chunk") return [];
    this.#translate ??= this.#fresh();
    for (const chunk of this.#skipped.splice(0)) await this.#translate(chunk);
    return this.#translate(entry.chunk);
  }
}
