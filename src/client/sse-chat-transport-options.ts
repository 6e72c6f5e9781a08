import type { UIMessageChunk } from "ai";
import type { ServerOptions } from "./server-requests.ts";
import type { Timers } from "./timers.ts";

/** How an `SseChatTransport` reaches the server. All may be left out. */
export interface SseChatTransportOptions extends ServerOptions {
  /** Called with every chunk as it comes. Default: chunks go to their streams only. */
  onChunk?: (chunk: UIMessageChunk) => void;
  /** After how long without a byte a connection counts as lost. The server sends something every 15 seconds. Default 40 s. */
  silenceMs?: number;
  /** How long to try to restore a lost connection. Default 60 seconds. */
  giveUpMs?: number;
  /** The clock, in milliseconds. Default `Date.now`. */
  now?: () => number;
  /** Spreads the attempts of many clients to connect again. Default `Math.random`. */
  random?: () => number;
  /** For tests that hold the time. Default: the global timers. */
  timers?: Timers;
}
