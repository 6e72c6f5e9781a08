import type { Timers } from "./timers.ts";
import type { WebSocketLike } from "./websocket-like.ts";

export interface WebSocketConnectionOptions {
  /** The server's `/live`; `http:` becomes `ws:`, and a path is resolved against the page's own address. */
  url: string | URL | (() => string | URL | Promise<string | URL>);
  /** Default: the global one. */
  webSocket?: new (url: string) => WebSocketLike;
  /** How often the server is pinged. Default 10 seconds. */
  pingMs?: number;
  /** How long a handshake or the reply to a ping may take before the socket is replaced. Default 10 seconds. */
  timeoutMs?: number;
  /** How long to try to restore a lost connection. Default 60 seconds. */
  giveUpMs?: number;
  now?: () => number;
  random?: () => number;
  timers?: Timers;
}
