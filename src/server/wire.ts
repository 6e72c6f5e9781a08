import type { Bridge } from "../agent/index.ts";
import type { ErrorCode } from "../protocol/index.ts";
import type { ChatArrivals } from "./chat-arrivals.ts";
import type { Confirmation } from "./dialect.ts";
import type { SocketWriter } from "./socket-writer.ts";

/** What a wire knows of the socket it speaks on. */
export interface WireContext {
  bridge: Bridge;
  owner: string;
  confirmation: Confirmation;
  writer: SocketWriter;
  arrivals: ChatArrivals;
  /** What may be said of a failure; what may not is logged. */
  toRefusal(error: unknown): Refusal;
  /** Ends the socket: it can no longer be told what it asked for. */
  fail(error: unknown): void;
}

/** A broken rule as the other side may read it. */
export interface Refusal {
  code: ErrorCode;
  message: string;
}
