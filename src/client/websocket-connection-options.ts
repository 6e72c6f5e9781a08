import type { RetryOptions } from "./retries.ts";
import type { WebSocketLike } from "./websocket-like.ts";

/** How the transport connects to the server's `/live`. */
export interface WebSocketConnectionOptions extends RetryOptions {
  /** The server's `/live`; `http:` becomes `ws:`, and a path is resolved against the page's own address. */
  url: string | URL | (() => string | URL | Promise<string | URL>);
  /** The class of the socket. Default: the global `WebSocket`. */
  webSocket?: new (url: string) => WebSocketLike;
  /** How often the server is pinged. Default 10 seconds. */
  pingMs?: number;
  /** How long a handshake or the reply to a ping may take before the socket is replaced. Default 10 seconds. */
  timeoutMs?: number;
}
