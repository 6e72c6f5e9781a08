import type { UIMessageChunk } from "ai";
import type { RetryOptions } from "./retries.ts";
import type { ServerOptions } from "./server-requests.ts";

/** How an `SseChatTransport` reaches the server. All may be left out. */
export interface SseChatTransportOptions extends ServerOptions, RetryOptions {
  /** Called with every chunk as it comes. Default: chunks go to their streams only. */
  onChunk?: (chunk: UIMessageChunk) => void;
  /** After how long without a byte a connection counts as lost. The server sends something every 15 seconds. Default 40 s. */
  silenceMs?: number | undefined;
}
