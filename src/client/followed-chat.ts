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

export type FollowedChat = ReturnType<typeof followedChat>;

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
export function followedChat(id: string, { maxKept, onChunk, hold = false }: FollowedChatOptions) {
  const requests = new Set<ChatRequest>();
  const turns = new KeptTurns(maxKept);
  const position = new LogPosition();
  let current: KeptTurn | undefined;
  /** True when the next socket must first stop the reply. */
  let interrupts = false;
  /** Turns that have not begun and reply to requests that are over. */
  const unwanted = new Set<string>();

  /** True while a stream of this chat is open. */
  const isRead = () => [...requests].some(({ stream }) => stream.isOpen);

  function add(request: NewChatRequest): ChatRequest {
    const added = newChatRequest(request);
    requests.add(added);
    return added;
  }

  // ── frames to the server ───────────────────────────────────────────────────────────────────────────────────────

  /** The frame of a request. */
  function ask(request: ChatRequest): object {
    return requestToFrame(request, id);
  }

  /** The frames a new socket begins with: the position in the log, and the requests the server may not have received. */
  function greet(): object[] {
    const open = [...requests].filter(({ turn }) => turn === undefined);
    const replays = open.some(({ message }) => message === undefined);
    const frames: object[] = [];
    const { sequence: after } = position;
    if (after !== undefined && !replays) frames.push({ type: "attach", id, after });
    // A message makes the socket follow from its turn on; an `attach` before it would skip a turn that is over by now.
    else if (open.length === 0 || (interrupts && !replays)) frames.push({ type: "attach", id });
    if (interrupts) frames.push(interrupt);
    interrupts = false;
    return [...frames, ...open.map((request) => ask(request))];
  }

  /** Stops a reply. Returns the frame for the server; if it cannot be sent now, call `interruptLater`. */
  function abort(request: ChatRequest): object | undefined {
    if (!requests.has(request)) return undefined;
    request.stream.close();
    // A request that was sent stays until its turn ends, so that no later request is given that turn.
    if (request.sent && (request.turn || request.message)) return interrupt;
    settle(request, "ended");
    return undefined;
  }

  /** Ends all streams for the page; that of a message which the server may not have, when its turn begins. */
  function release(): void {
    for (const request of requests)
      if (request.turn || !request.message) settle(request, "ended");
      else request.isLeft = true;
  }

  function interruptLater(): void {
    interrupts = true;
  }

  // ── frames from the server ─────────────────────────────────────────────────────────────────────────────────────

  function take(frame: Exclude<ServerFrame, { type: "pong" }>): void {
    switch (frame.type) {
      case "turn":
        return begin(frame);
      case "chunk":
        return pass(position.take(frame.chunk, frame.sequence));
      case "done":
        return end();
      case "parked":
        position.advance(frame.sequence);
        if (current?.id === frame.turn) end(hold);
        return;
      case "withdrawn":
        return withdraw(frame);
      case "accepted":
        return accept(frame);
      case "refused":
        return refuse(frame);
      case "attached":
        if (frame.id === id) attached(frame);
        return;
      case "deleted":
        if (frame.id === id) deleted();
        return;
      default:
        frame satisfies never;
    }
  }

  /** The socket is lost, and with it everything that is not in the log. */
  function lost(): void {
    position.flush();
    unwanted.clear();
    const turn = current;
    // No chunk of it came. Its requests are sent again, and read this turn if it comes after all. A turn that continues a
    // reply comes again by itself.
    if (turn && !turn.isSeen) leaveTurn(turn, [...requests]);
    for (const request of requests) if (!request.turn && !request.stream.isOpen) settle(request, "ended");
  }

  /** Ends all requests: nothing more will come. */
  function fail(error: Error): void {
    for (const request of requests) settle(request, error);
  }

  // ── turns ──────────────────────────────────────────────────────────────────────────────────────────────────────

  function begin({ turn: begun, reply, sequence }: ServerFrame & { type: "turn" }): void {
    position.flush();
    const known = turns.find(begun);
    if (known) return void (current = known.hasEnded ? undefined : known);
    end();
    position.advance(sequence);
    const turn = turns.add({ id: begun, reply, isClaimed: unwanted.delete(begun) });
    current = turn;
    // Streams that wait read it if it continues their message, and end if it does not.
    for (const request of requests) if (request.isPaused && !goesOn(request, turn)) settle(request, "ended");
    for (const request of requests) if (awaitsTurn(request, begun)) claim(request, turn);
    trim();
  }

  /** Passes on chunks of the turn that is being sent. */
  function pass(chunks: readonly UIMessageChunk[]): void {
    const turn = current;
    if (!turn || chunks.length === 0) return;
    turn.isSeen = true;
    turns.addChunks(turn, chunks);
    for (const request of requests) if (request.turn === turn) write(request, turn, chunks);
    if (turns.isFull) trim();
    for (const chunk of chunks) onChunk(chunk);
  }

  /** Messages were withdrawn, and the page is told once. A reply that is being read was cut off and begins again. */
  function withdraw({ from, sequence }: ServerFrame & { type: "withdrawn" }): void {
    if (!position.advance(sequence)) return;
    onChunk({ type: "data-withdrawn", transient: true, data: { from } });
    if (current?.reply === from) breakOff("The network connection was cut in the middle of the reply.");
  }

  function end(pauses = false): void {
    const turn = current;
    if (turn) turn.isAside = !turn.isSeen;
    pass(position.flush());
    if (!turn) return;
    turn.hasEnded = true;
    current = undefined;
    for (const request of requests)
      if (request.turn === turn) {
        request.isPaused = pauses && request.stream.isOpen;
        if (!request.isPaused) settle(request, "ended");
      }
    trim();
  }

  function forget(sequence: number | undefined): void {
    position.sequence = sequence;
    position.flush();
    current = undefined;
    turns.clear();
  }

  function trim(): void {
    const mayBeAccepted = [...requests].some(({ sent, turn }) => sent && !turn);
    turns.trim({ current, mayBeAccepted });
  }

  // ── requests ───────────────────────────────────────────────────────────────────────────────────────────────────

  function accept({ requestId, turn: named }: ServerFrame & { type: "accepted" }): void {
    const request = find(requestId);
    const turn = turns.find(named);
    if (!request || request.turn) {
      // The request was sent twice, or it is over: no request will ask for this turn.
      if (turn) turn.isClaimed = true;
      else unwanted.add(named);
    } else {
      request.accepted.add(named);
      if (turn) claim(request, turn);
    }
    trim();
  }

  function refuse({ requestId, code, message, retryAfter }: ServerFrame & { type: "refused" }): void {
    const request = find(requestId);
    if (!request) return;
    settle(request, new BridgeError(code, message, { retryAfter }));
    trim();
  }

  function attached({ sequence, running }: ServerFrame & { type: "attached" }): void {
    const replays = [...requests].filter(({ turn, message }) => !turn && !message);
    if (replays.length > 0) {
      // The whole running turn comes next, or only new entries.
      forget(running ? undefined : sequence);
      for (const request of replays)
        if (running) acceptAnyTurn(request);
        else settle(request, "nothing");
    } else if (position.sequence === undefined) {
      if (!running) position.sequence = sequence;
    } else if (sequence < position.sequence) {
      forget(sequence);
      breakOff("The network connection is back, but the server has lost this chat.");
    }
  }

  /** Nothing of the chat is left. Messages that were not sent yet begin a new one. */
  function deleted(): void {
    forget(0);
    for (const request of requests)
      if (request.sent) settle(request, new BridgeError("not_found", "This chat was deleted."));
  }

  /** Lets the request read this turn, after the turns of the same message that no request has read. */
  function claim(request: ChatRequest, turn: KeptTurn): void {
    request.turn = turn;
    request.onSettled("begun");
    for (const earlier of turns.unclaimedBefore(turn)) writeEarlier(request, earlier);
    turn.isClaimed = true;
    if (turn.isCut) {
      settle(request, new TypeError("More came over the network than was kept. Read the chat again."));
      return;
    }
    write(request, turn, turn.chunks);
    if (turn.hasEnded || request.isLeft) settle(request, "ended");
  }

  /** Ends the requests that read a turn. AI SDK takes a TypeError about the network for a broken connection. */
  function breakOff(sentence: string): void {
    for (const request of requests) if (request.turn) settle(request, new TypeError(sentence));
  }

  function settle(request: ChatRequest, result: "ended" | "nothing" | Error): void {
    requests.delete(request);
    if (result instanceof Error) request.stream.error(result);
    else request.stream.close();
    request.onSettled(result);
  }

  function find(requestId: string): ChatRequest | undefined {
    return [...requests].find((request) => request.requestId === requestId);
  }

  return { id, isRead, add, ask, greet, abort, release, interruptLater, take, lost, fail };
}
