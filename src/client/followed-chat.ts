import type { UIMessageChunk } from "ai";
import { BridgeError } from "../protocol/errors.ts";
import {
  acceptAnyTurn,
  awaitsTurn,
  type ChatRequest,
  type NewChatRequest,
  goesOn,
  leaveTurn,
  newChatRequest,
  requestToFrame,
  write,
  writeEarlier,
  interrupt,
} from "./chat-request.ts";
import type { ServerFrame } from "./server-frame.ts";
import { LogPosition } from "./log-position.ts";
import { type KeptTurn, KeptTurns } from "./kept-turns.ts";

interface FollowedChatOptions {
  maxKept: number;
  onChunk: (chunk: UIMessageChunk) => void;
  /** Streams stay open while the server waits for an answer. */
  hold?: boolean;
}

/**
 * One chat as its socket tells it: which turn the chunks belong to, which request reads the turn, and how much of the log
 * has arrived. It does not know the socket, so the socket may be lost at any time.
 *
 *     turn ──► chunk … ──► done | parked          the chat's turns, one after the other
 *     accepted{requestId, turn}                   at any time: this request reads that turn
 *
 * A turn that no request asked for is kept: the next reply about its message begins with it. Chunks without a number
 * belong to the next numbered chunk and are passed on with it, so that a chunk is never seen twice, wherever the
 * connection broke.
 */
export class FollowedChat {
  readonly id: string;
  readonly #onChunk: (chunk: UIMessageChunk) => void;
  readonly #holds: boolean;
  readonly #requests = new Set<ChatRequest>();
  readonly #turns: KeptTurns;
  #current: KeptTurn | undefined;
  readonly #position = new LogPosition();
  /** True when the next socket must first stop the reply. */
  #interrupts = false;
  /** Turns that have not begun and reply to requests that are over. */
  readonly #unwanted = new Set<string>();

  constructor(id: string, { maxKept, onChunk, hold = false }: FollowedChatOptions) {
    this.id = id;
    this.#turns = new KeptTurns(maxKept);
    this.#onChunk = onChunk;
    this.#holds = hold;
  }

  /** True while a stream of this chat is open. */
  get isRead(): boolean {
    return [...this.#requests].some(({ stream }) => stream.isOpen);
  }

  add(request: NewChatRequest): ChatRequest {
    const added = newChatRequest(request);
    this.#requests.add(added);
    return added;
  }

  // ── frames to the server ───────────────────────────────────────────────────────────────────────────────────────

  /** The frame of a request. */
  ask(request: ChatRequest): object {
    return requestToFrame(request, this.id);
  }

  /** The frames a new socket begins with: the position in the log, and the requests the server may not have received. */
  greet(): object[] {
    const open = [...this.#requests].filter(({ turn }) => turn === undefined);
    const replays = open.some(({ message }) => message === undefined);
    const frames: object[] = [];
    const { sequence: after } = this.#position;
    if (after !== undefined && !replays) frames.push({ type: "attach", id: this.id, after });
    // A message makes the socket follow from its turn on; an `attach` before it would skip a turn that is over by now.
    else if (open.length === 0 || (this.#interrupts && !replays)) frames.push({ type: "attach", id: this.id });
    if (this.#interrupts) frames.push(interrupt);
    this.#interrupts = false;
    return [...frames, ...open.map((request) => this.ask(request))];
  }

  /** Stops a reply. Returns the frame for the server; if it cannot be sent now, call `interruptLater`. */
  abort(request: ChatRequest): object | undefined {
    if (!this.#requests.has(request)) return undefined;
    request.stream.close();
    const hasBegun = request.turn !== undefined;
    // A request that was sent stays until its turn ends, so that no later request is given that turn.
    if (!request.sent || (!hasBegun && !request.message)) this.#settle(request, "ended");
    return request.sent && (hasBegun || request.message) ? interrupt : undefined;
  }

  /** Ends all streams for the page; that of a message which the server may not have, when its turn begins. */
  release(): void {
    for (const request of this.#requests)
      if (request.turn || !request.message) this.#settle(request, "ended");
      else request.isLeft = true;
  }

  interruptLater(): void {
    this.#interrupts = true;
  }

  // ── frames from the server ─────────────────────────────────────────────────────────────────────────────────────

  take(frame: Exclude<ServerFrame, { type: "pong" }>): void {
    switch (frame.type) {
      case "turn":
        return this.#begin(frame);
      case "chunk":
        return this.#pass(this.#position.take(frame.chunk, frame.sequence));
      case "done":
        return this.#end();
      case "parked":
        this.#position.advance(frame.sequence);
        if (this.#current?.id === frame.turn) this.#end(this.#holds);
        return;
      case "withdrawn":
        return this.#withdraw(frame);
      case "accepted":
        return this.#accept(frame);
      case "refused":
        return this.#refuse(frame);
      case "attached":
        if (frame.id === this.id) this.#attached(frame);
        return;
      case "deleted":
        if (frame.id === this.id) this.#deleted();
        return;
      default:
        frame satisfies never;
    }
  }

  /** The socket is lost, and with it everything that is not in the log. */
  lost(): void {
    this.#position.flush();
    this.#unwanted.clear();
    const turn = this.#current;
    // No chunk of it came. Its requests are sent again, and read this turn if it comes after all. A turn that continues a
    // reply comes again by itself.
    if (turn && !turn.isSeen) leaveTurn(turn, [...this.#requests]);
    for (const request of this.#requests) if (!request.turn && !request.stream.isOpen) this.#settle(request, "ended");
  }

  /** Ends all requests: nothing more will come. */
  fail(error: Error): void {
    for (const request of this.#requests) this.#settle(request, error);
  }

  // ── turns ──────────────────────────────────────────────────────────────────────────────────────────────────────

  #begin({ turn: id, reply, sequence }: ServerFrame & { type: "turn" }): void {
    this.#position.flush();
    const known = this.#turns.find(id);
    if (known) return void (this.#current = known.hasEnded ? undefined : known);
    this.#end();
    this.#position.advance(sequence);
    const turn = this.#turns.add({ id, reply, isClaimed: this.#unwanted.delete(id) });
    this.#current = turn;
    this.#goOn(turn);
    for (const request of this.#requests) if (awaitsTurn(request, id)) this.#claim(request, turn);
    this.#trim();
  }

  /** Passes on chunks of the turn that is being sent. */
  #pass(chunks: readonly UIMessageChunk[]): void {
    const turn = this.#current;
    if (!turn || chunks.length === 0) return;
    turn.isSeen = true;
    this.#turns.addChunks(turn, chunks);
    for (const request of this.#requests) if (request.turn === turn) write(request, turn, chunks);
    if (this.#turns.isFull) this.#trim();
    for (const chunk of chunks) this.#onChunk(chunk);
  }

  /** Messages were withdrawn, and the page is told once. A reply that is being read was cut off and begins again. */
  #withdraw({ from, sequence }: ServerFrame & { type: "withdrawn" }): void {
    if (!this.#position.advance(sequence)) return;
    this.#onChunk({ type: "data-withdrawn", transient: true, data: { from } });
    if (this.#current?.reply === from) this.#fail("The network connection was cut in the middle of the reply.");
  }

  /** A turn has begun. Streams that wait read it if it continues their message, and end if it does not. */
  #goOn(turn: KeptTurn): void {
    for (const request of this.#requests)
      if (request.isPaused && !goesOn(request, turn)) this.#settle(request, "ended");
  }

  #end(pauses = false): void {
    const turn = this.#current;
    if (turn) turn.isAside = !turn.isSeen;
    this.#pass(this.#position.flush());
    if (!turn) return;
    turn.hasEnded = true;
    this.#current = undefined;
    for (const request of this.#requests)
      if (request.turn === turn) {
        request.isPaused = pauses && request.stream.isOpen;
        if (!request.isPaused) this.#settle(request, "ended");
      }
    this.#trim();
  }

  #forget(position: number | undefined): void {
    this.#position.sequence = position;
    this.#position.flush();
    this.#current = undefined;
    this.#turns.clear();
  }

  #trim(): void {
    const mayBeAccepted = [...this.#requests].some(({ sent, turn }) => sent && !turn);
    this.#turns.trim({ current: this.#current, mayBeAccepted });
  }

  // ── requests ───────────────────────────────────────────────────────────────────────────────────────────────────

  #accept({ requestId, turn: id }: ServerFrame & { type: "accepted" }): void {
    const request = this.#find(requestId);
    const turn = this.#turns.find(id);
    if (!request || request.turn) {
      // The request was sent twice, or it is over: no request will ask for this turn.
      if (turn) turn.isClaimed = true;
      else this.#unwanted.add(id);
    } else {
      request.accepted.add(id);
      if (turn) this.#claim(request, turn);
    }
    this.#trim();
  }

  #refuse({ requestId, code, message, retryAfter }: ServerFrame & { type: "refused" }): void {
    const request = this.#find(requestId);
    if (!request) return;
    this.#settle(request, new BridgeError(code, message, { retryAfter }));
    this.#trim();
  }

  #attached({ sequence, running }: ServerFrame & { type: "attached" }): void {
    const replays = [...this.#requests].filter(({ turn, message }) => !turn && !message);
    if (replays.length > 0) {
      // The whole running turn comes next, or only new entries.
      this.#forget(running ? undefined : sequence);
      for (const request of replays)
        if (running) acceptAnyTurn(request);
        else this.#settle(request, "nothing");
    } else if (this.#position.sequence === undefined) {
      if (!running) this.#position.sequence = sequence;
    } else if (sequence < this.#position.sequence) {
      this.#forget(sequence);
      this.#fail("The network connection is back, but the server has lost this chat.");
    }
  }

  /** Nothing of the chat is left. Messages that were not sent yet begin a new one. */
  #deleted(): void {
    this.#forget(0);
    for (const request of this.#requests)
      if (request.sent) this.#settle(request, new BridgeError("not_found", "This chat was deleted."));
  }

  /** Lets the request read this turn, after the turns of the same message that no request has read. */
  #claim(request: ChatRequest, turn: KeptTurn): void {
    request.turn = turn;
    request.onSettled("begun");
    for (const earlier of this.#turns.unclaimedBefore(turn)) writeEarlier(request, earlier);
    turn.isClaimed = true;
    if (turn.isCut) {
      this.#settle(request, new TypeError("More came over the network than was kept. Read the chat again."));
      return;
    }
    write(request, turn, turn.chunks);
    if (turn.hasEnded || request.isLeft) this.#settle(request, "ended");
  }

  /** Ends the requests that read a turn. AI SDK takes a TypeError about the network for a broken connection. */
  #fail(sentence: string): void {
    for (const request of this.#requests) if (request.turn) this.#settle(request, new TypeError(sentence));
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
}
