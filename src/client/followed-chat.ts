import type { UIMessageChunk } from "ai";
import { BridgeError } from "../protocol/errors.ts";
import { ChunkStream } from "./chunk-stream.ts";
import type { ServerFrame } from "./frame.ts";

/** Something the page asked for, and the stream that carries the answer. */
export interface ChatRequest {
  readonly requestId: string;
  readonly stream: ChunkStream;
  /** A `message` to send; absent where the page wants to see what is running. */
  readonly message?: object;
  /** A socket took it; whether the server did is another question. */
  sent: boolean;
  /** The turns the server named for it. It has several after a repetition; the first that begins is the answer. */
  readonly accepted: Set<string>;
  turn: Turn | undefined;
  /** The calls whose outcome came in front of that turn; undefined where nothing did. */
  settled: ReadonlySet<string> | undefined;
  /** It is answered, refused or given up. */
  onSettled(result: "begun" | "ended" | "nothing" | Error): void;
}

/** A turn of the chat, as far as this connection saw it. */
interface Turn {
  readonly id: string;
  readonly reply: string;
  /** Something of it was given out. Until then it may be a reply that is in no log, and a new socket knows nothing of. */
  isSeen: boolean;
  chunks: UIMessageChunk[];
  /** There were too many chunks to keep. */
  isCut: boolean;
  hasEnded: boolean;
  /** It is a reply that is in no log: the outcome of calls that had been answered before. */
  isAside: boolean;
  /** Somebody read it, or asked for it and left. */
  isClaimed: boolean;
}

/**
 * One chat as its socket tells it: which turn the chunks belong to, which stream the turn belongs to, and how far we are.
 * Knows no socket, so that it can lose one in the middle of anything.
 *
 *     turn ──► chunk … ──► done | parked          the chat's turns, one after the other
 *     accepted{requestId, turn}                   at any time: this request reads that turn
 *
 * A turn nobody asked for is kept: the next answer about its message begins with it. Chunks without a number belong to
 * the next numbered one and are given out with it, so that a chunk is never seen twice, wherever the line was cut.
 */
export class FollowedChat {
  readonly id: string;
  readonly #maxKept: number;
  readonly #onChunk: (chunk: UIMessageChunk) => void;
  readonly #requests = new Set<ChatRequest>();
  /** The last log entry seen; undefined while we have seen nothing of this chat. */
  #position: number | undefined;
  #current: Turn | undefined;
  /** The turns that somebody may still want to read, oldest first. */
  #turns: Turn[] = [];
  #kept = 0;
  #unnumbered: UIMessageChunk[] = [];
  #interrupts = false;
  /** Turns to come that answer requests which are over. */
  readonly #left = new Set<string>();

  constructor(id: string, options: { maxKept: number; onChunk: ((chunk: UIMessageChunk) => void) | undefined }) {
    this.id = id;
    this.#maxKept = options.maxKept;
    this.#onChunk = options.onChunk ?? (() => undefined);
  }

  /** Somebody reads, or waits for something to read. */
  get isRead(): boolean {
    return [...this.#requests].some(({ stream }) => stream.isOpen);
  }

  add(request: Pick<ChatRequest, "requestId" | "message" | "onSettled">): ChatRequest {
    const added: ChatRequest = {
      ...request,
      stream: new ChunkStream(),
      sent: false,
      accepted: new Set(),
      turn: undefined,
      settled: undefined,
    };
    this.#requests.add(added);
    return added;
  }

  // ── what to say ────────────────────────────────────────────────────────────────────────────────────────────────

  /** The frame of a request. The server is told when it may have had it before. */
  ask(request: ChatRequest): object {
    const { message, requestId, sent } = request;
    request.sent = true;
    if (!message) return { type: "attach", id: this.id, requestId };
    return { type: "message", id: this.id, requestId, ...message, ...(sent && { resend: true }) };
  }

  /** Everything a new socket has to say: where we were, and what the server may not have heard. */
  greet(): object[] {
    const open = [...this.#requests].filter(({ turn }) => turn === undefined);
    const replays = open.some(({ message }) => message === undefined);
    const frames: object[] = [];
    if (this.#position !== undefined && !replays) frames.push({ type: "attach", id: this.id, after: this.#position });
    // A message makes the socket follow from its turn on; attached before, it would begin behind a turn that is over.
    else if (open.length === 0 || (this.#interrupts && !replays)) frames.push({ type: "attach", id: this.id });
    if (this.#interrupts) frames.push({ type: "interrupt", reason: "The user stopped the reply." });
    this.#interrupts = false;
    return [...frames, ...open.map((request) => this.ask(request))];
  }

  /** The page stops a reply. Returns what to tell the server; where that cannot be told now, `interruptLater`. */
  abort(request: ChatRequest): object | undefined {
    if (!this.#requests.has(request)) return undefined;
    request.stream.close();
    const hasBegun = request.turn !== undefined;
    // What was sent stays here until its turn ends, so that the turn is known to be nobody's.
    if (!request.sent || (!hasBegun && !request.message)) this.#settle(request, "ended");
    return request.sent && (hasBegun || request.message)
      ? { type: "interrupt", reason: "The user stopped the reply." }
      : undefined;
  }

  interruptLater(): void {
    this.#interrupts = true;
  }

  // ── what is said ───────────────────────────────────────────────────────────────────────────────────────────────

  take(frame: Exclude<ServerFrame, { type: "pong" }>): void {
    switch (frame.type) {
      case "turn":
        return this.#begin(frame);
      case "chunk":
        return this.#takeChunk(frame);
      case "done":
        return this.#end();
      case "parked":
        this.#advance(frame.sequence);
        if (this.#current?.id === frame.turn) this.#end();
        return;
      case "accepted":
        return this.#accept(frame);
      case "refused":
        return this.#refuse(frame);
      case "attached":
        if (frame.id === this.id) this.#attached(frame);
        return;
      default:
        frame satisfies never;
    }
  }

  /** The socket is gone, and with it whatever was not in the log. */
  lost(): void {
    this.#unnumbered = [];
    this.#left.clear();
    const turn = this.#current;
    // Nothing came of it. It is asked for again, and taken up here if it comes.
    if (turn && !turn.isSeen) {
      turn.isClaimed = false;
      for (const request of this.#requests) if (request.turn === turn) request.turn = undefined;
    }
    for (const request of this.#requests) if (!request.turn && !request.stream.isOpen) this.#settle(request, "ended");
  }

  /** Nothing will come any more. */
  fail(error: Error): void {
    for (const request of this.#requests) this.#settle(request, error);
  }

  #begin({ turn: id, reply, sequence }: ServerFrame & { type: "turn" }): void {
    this.#unnumbered = [];
    const known = this.#turns.find((turn) => turn.id === id);
    if (known) {
      this.#current = known.hasEnded ? undefined : known;
      return;
    }
    this.#end();
    this.#advance(sequence);
    const turn: Turn = {
      id,
      reply,
      isSeen: false,
      isAside: false,
      chunks: [],
      isCut: false,
      hasEnded: false,
      isClaimed: this.#left.delete(id),
    };
    this.#turns.push(turn);
    this.#current = turn;
    for (const request of this.#requests)
      if (!request.turn && (request.accepted.has(id) || isAttached(request))) this.#claim(request, turn);
    this.#trim();
  }

  #takeChunk({ chunk, sequence }: ServerFrame & { type: "chunk" }): void {
    this.#unnumbered.push(chunk);
    if (sequence === undefined) return;
    if (sequence <= (this.#position ?? -1)) this.#unnumbered = [];
    else {
      this.#position = sequence;
      this.#release();
    }
  }

  #release(): void {
    const chunks = this.#unnumbered;
    this.#unnumbered = [];
    const turn = this.#current;
    if (!turn || chunks.length === 0) return;
    turn.isSeen = true;
    if (!turn.isCut) {
      for (const chunk of chunks) turn.chunks.push(chunk);
      this.#kept += chunks.length;
    }
    for (const request of this.#requests)
      if (request.turn === turn) request.stream.write(turn.isAside ? unsettled(chunks, request) : chunks);
    if (this.#kept > this.#maxKept) this.#trim();
    for (const chunk of chunks) this.#onChunk(chunk);
  }

  #end(): void {
    const turn = this.#current;
    if (turn) turn.isAside = !turn.isSeen;
    this.#release();
    if (!turn) return;
    turn.hasEnded = true;
    this.#current = undefined;
    for (const request of this.#requests) if (request.turn === turn) this.#settle(request, "ended");
    this.#trim();
  }

  #accept({ requestId, turn: id }: ServerFrame & { type: "accepted" }): void {
    const request = this.#find(requestId);
    const turn = this.#turns.find((known) => known.id === id);
    if (!request || request.turn) {
      // A repetition, or an answer to somebody who left: nobody is going to ask for it.
      if (turn) turn.isClaimed = true;
      else this.#left.add(id);
    } else {
      request.accepted.add(id);
      if (turn) this.#claim(request, turn);
    }
    this.#trim();
  }

  #refuse({ requestId, code, message }: ServerFrame & { type: "refused" }): void {
    const request = this.#find(requestId);
    if (!request) return;
    this.#settle(request, new BridgeError(code, message));
    this.#trim();
  }

  #attached({ sequence, running }: ServerFrame & { type: "attached" }): void {
    const replays = [...this.#requests].filter(({ turn, message }) => !turn && !message);
    if (replays.length > 0) {
      // From here on comes the whole running turn, or what is new.
      this.#forget(running ? undefined : sequence);
      for (const request of replays)
        if (running) request.accepted.add(anyTurn);
        else this.#settle(request, "nothing");
    } else if (this.#position === undefined) {
      if (!running) this.#position = sequence;
    } else if (sequence < this.#position) {
      this.#forget(sequence);
      const error = new TypeError("The network connection is back, but the server has lost this chat.");
      for (const request of this.#requests) if (request.turn) this.#settle(request, error);
    }
  }

  #forget(position: number | undefined): void {
    this.#position = position;
    this.#current = undefined;
    this.#turns = [];
    this.#kept = 0;
    this.#unnumbered = [];
  }

  /** From now on the request reads this turn, behind what came for the same message and nobody read. */
  #claim(request: ChatRequest, turn: Turn): void {
    request.turn = turn;
    request.onSettled("begun");
    const { stream } = request;
    for (const earlier of this.#turns) {
      if (earlier === turn) break;
      if (earlier.isClaimed || earlier.reply !== turn.reply) continue;
      earlier.isClaimed = true;
      if (earlier.chunks.length === 0) continue;
      request.settled = new Set([...(request.settled ?? []), ...earlier.chunks.flatMap(settledCall)]);
      stream.write(earlier.chunks.filter(({ type }) => type !== "start" && type !== "finish"));
    }
    turn.isClaimed = true;
    if (turn.isCut) {
      this.#settle(request, new TypeError("More came over the network than was kept. Read the chat again."));
      return;
    }
    stream.write(turn.isAside ? unsettled(turn.chunks, request) : turn.chunks);
    if (turn.hasEnded) this.#settle(request, "ended");
  }

  #settle(request: ChatRequest, result: "ended" | "nothing" | Error): void {
    this.#requests.delete(request);
    if (result instanceof Error) request.stream.error(result);
    else request.stream.close();
    request.onSettled(result);
  }

  #find(requestId: string): ChatRequest | undefined {
    return [...this.#requests].find((request) => request.requestId === requestId);
  }

  #advance(sequence: number): void {
    // The log counts from 1; what is in no log may say 0.
    if (sequence > 0) this.#position = Math.max(sequence, this.#position ?? 0);
  }

  /** Lets go of what nobody can ask for any more, and of the oldest when it is too much. */
  #trim(): void {
    const mayBeAccepted = [...this.#requests].some(({ sent, turn }) => sent && !turn);
    const newest = this.#turns.at(-1);
    this.#turns = this.#turns.filter(
      (turn) => turn === this.#current || mayBeAccepted || (!turn.isClaimed && turn.reply === newest?.reply),
    );
    this.#kept = this.#turns.reduce((sum, { chunks }) => sum + chunks.length, 0);
    for (const turn of this.#turns) {
      if (this.#kept <= this.#maxKept) return;
      this.#kept -= turn.chunks.length;
      turn.chunks = [];
      turn.isCut = true;
    }
  }
}

/** What a replay waits for: whichever turn begins next. */
const anyTurn = "*";

function isAttached({ accepted, message }: ChatRequest): boolean {
  return !message && accepted.has(anyTurn);
}

/**
 * What is left to say of a reply that repeats outcomes: nothing where they have just been shown. That is so when an answer
 * was sent twice, because the line broke before it was acknowledged, and the turn it caused came by itself.
 */
function unsettled(chunks: readonly UIMessageChunk[], { settled }: ChatRequest): readonly UIMessageChunk[] {
  return settled && chunks.flatMap(settledCall).every((call) => settled.has(call)) ? [] : chunks;
}

function settledCall(chunk: UIMessageChunk): string[] {
  const { type } = chunk;
  const settles = type === "tool-output-available" || type === "tool-output-error" || type === "tool-output-denied";
  return settles ? [chunk.toolCallId] : [];
}
