import type { UIMessageChunk } from "ai";
import { ChunkStream } from "./chunk-stream.ts";
import type { KeptTurn } from "./kept-turns.ts";
import { settledCalls } from "./settled-calls.ts";

/** A request of the page, and the stream that carries the reply. */
export interface ChatRequest {
  readonly requestId: string;
  readonly stream: ChunkStream;
  /** The `message` to send; absent when the page asks for the turn that is running. */
  readonly message?: object;
  /** True when it was written to a socket. The server may or may not have received it. */
  sent: boolean;
  /** The turns the server named for it: several if it was sent again. The first one that begins is the reply. */
  readonly accepted: Set<string>;
  /** The turn it reads. */
  turn: KeptTurn | undefined;
  /** True while the turn it reads waits for an answer, and its stream stays open. */
  isPaused: boolean;
  /** True if the turn it reads continues the one for which it waited. */
  hasGoneOn: boolean;
  /** True if the page leaves it when its turn begins. */
  isLeft: boolean;
  /** The calls whose outcome it was given before that turn; undefined when it was given nothing. */
  settled: ReadonlySet<string> | undefined;
  /** Called with `begun` when its turn has begun, and once more at its end. */
  onSettled(result: "begun" | "ended" | "nothing" | Error): void;
}

export type NewChatRequest = Pick<ChatRequest, "requestId" | "message" | "onSettled">;

export function newChatRequest(request: NewChatRequest): ChatRequest {
  return {
    ...request,
    stream: new ChunkStream(),
    sent: false,
    accepted: new Set(),
    turn: undefined,
    isPaused: false,
    hasGoneOn: false,
    isLeft: false,
    settled: undefined,
  };
}

/** In `accepted`, it stands for whichever turn begins next. */
const anyTurn = "*";

/** Lets a request without a message read the next turn that begins. */
export function acceptAnyTurn(request: ChatRequest): void {
  request.accepted.add(anyTurn);
}

/** True if a turn that begins now is the reply to the request. */
export function awaitsTurn({ turn, accepted, message }: ChatRequest, id: string): boolean {
  return !turn && (accepted.has(id) || (!message && accepted.has(anyTurn)));
}

/**
 * Writes chunks of the turn that a request reads. If the turn only repeats outcomes that the request has just been given,
 * nothing is written: the answer was sent twice because the connection broke before it was acknowledged, and the turn it
 * caused has come by itself.
 */
export function write(
  { stream, settled }: ChatRequest,
  { isAside }: KeptTurn,
  chunks: readonly UIMessageChunk[],
): void {
  const isRepeated = isAside && settled && settledCalls(chunks).every((call) => settled.has(call));
  if (!isRepeated) stream.write(chunks);
}

/** A turn has begun while the request waits. Returns true, and lets it read the turn, if that continues its message. */
export function goesOn(request: ChatRequest, turn: KeptTurn): boolean {
  request.isPaused = false;
  request.hasGoneOn = request.turn?.reply === turn.reply;
  if (!request.hasGoneOn) return false;
  request.turn = turn;
  turn.isClaimed = true;
  return true;
}

/** The turn may never come. Those who read it as their first turn no longer do. */
export function leaveTurn(turn: KeptTurn, requests: readonly ChatRequest[]): void {
  const readers = requests.filter((request) => request.turn === turn);
  turn.isClaimed = readers.some(({ hasGoneOn }) => hasGoneOn);
  for (const request of readers) if (!request.hasGoneOn) request.turn = undefined;
}

/** Writes a turn of the same message that no request has read, without its beginning and its end. */
export function writeEarlier(request: ChatRequest, earlier: KeptTurn): void {
  earlier.isClaimed = true;
  if (earlier.chunks.length === 0) return;
  request.settled = new Set([...(request.settled ?? []), ...settledCalls(earlier.chunks)]);
  request.stream.write(earlier.chunks.filter(({ type }) => type !== "start" && type !== "finish"));
}

/** The frame of a request. It says `resend` when the server may have received it before. */
export function requestToFrame(request: ChatRequest, id: string): object {
  const { message, requestId, sent } = request;
  request.sent = true;
  if (!message) return { type: "attach", id, requestId };
  return { type: "message", id, requestId, ...message, ...(sent && { resend: true }) };
}

/** The frame that stops a reply. */
export const interrupt = { type: "interrupt", reason: "The user stopped the reply." };
