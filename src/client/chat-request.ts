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

/** The frame that stops a reply. */
export const interrupt = { type: "interrupt", reason: "The user stopped the reply." };
