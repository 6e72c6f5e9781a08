import type { UIMessage, UIMessageChunk } from "ai";
import type { ConnectionState } from "./connection-state.ts";
import {
  type HeldTransport,
  type ReconnectOptions,
  type SendOptions,
  tellEnd,
  type ToolResult,
  type TransportHooks,
} from "./held-transport.ts";
import type { LoadedWebSocketTransport } from "./loaded-websocket-transport.ts";
import { watched } from "./watched.ts";
import type { WebSocketConnectionOptions } from "./websocket-connection-options.ts";

/** How `WebSocketChatTransport` connects, and what it tells the page. Only `url` is required. */
export interface WebSocketChatTransportOptions extends WebSocketConnectionOptions {
  /**
   * Called with every chunk of the chat as it comes, also with those of turns that no request asked for. `data-withdrawn`
   * with `data: { from }` says that the messages from this id on were withdrawn; no stream has it. Default: chunks go to their streams only.
   */
  onChunk?: (chunk: UIMessageChunk) => void;
  /**
   * A reply's stream stays open while the server waits for an answer, and goes on after it. The answer goes beside the
   * stream: see `attachApprovals`, which needs this. Default: the stream closes, and AI SDK sends the answer.
   */
  hold?: boolean;
  /** How many chunks of turns that no request has read are kept for a later request. Default 10,000. */
  maxKept?: number;
  /** Ids of requests. They must be unique, because the server recognises a repeated request by its id. Default: random ones. */
  newId?: () => string;
}

const loading: ConnectionState = { status: "connecting" };

/**
 * Stock `useChat`, of AI SDK 6 and 7, over one WebSocket. A reply's stream closes where the server waits for an approval,
 * so that the chat sends the answer by itself; the stream of the answer goes on with the same message. A lost socket is
 * replaced while streams are open, and they neither lose nor repeat a chunk.
 *
 * It follows one chat at a time: a request for another chat leaves the first one.
 *
 * Its code is a module of its own, which is loaded when the first transport is made: a page over HTTP does not need it.
 * Calls made before the module has loaded are carried out afterwards, in the order in which they were made.
 */
export class WebSocketChatTransport<UI_MESSAGE extends UIMessage = UIMessage> implements HeldTransport<UI_MESSAGE> {
  /** Tells AI SDK that a resumed stream begins at the start of the turn. */
  readonly resumeStreamIsReplay = true;
  readonly resumesPaused = false;
  hooks: TransportHooks = {};
  readonly #state = watched<ConnectionState>({ status: "idle" });
  readonly #options: WebSocketChatTransportOptions;
  #loading: Promise<LoadedWebSocketTransport> | undefined;
  /** What does the work, from the moment when its code is here. */
  #loaded: LoadedWebSocketTransport | undefined;

  constructor(options: WebSocketChatTransportOptions) {
    this.#options = options;
    // A failure here is ignored: the first request loads the module again, and reports it if that fails too.
    void this.#load();
  }

  /** The state of the connection; with `subscribe` for `useSyncExternalStore`. */
  getState = this.#state.get;

  /** Calls the listener at each change of the state. Returns a function that stops it. */
  subscribe = this.#state.subscribe;

  /** Sends the new message and returns the stream of the turn it causes, also before there is a connection. */
  sendMessages(options: SendOptions<UI_MESSAGE>): Promise<ReadableStream<UIMessageChunk>> {
    // The list as it is now: the chat may change it before the module has loaded.
    const given = { ...options, messages: [...options.messages] };
    return this.#ask((loaded) => loaded.sendMessages(given), options.abortSignal);
  }

  /**
   * The turn that is running, from its beginning; null when no turn is running, or when a stream of this transport shows
   * it. If no turn is running, kept turns are dropped too, because the page reads the chat's messages then.
   */
  reconnectToStream(options: ReconnectOptions<UI_MESSAGE>): Promise<ReadableStream<UIMessageChunk> | null> {
    return this.#ask((loaded) => loaded.reconnectToStream(options), options.abortSignal);
  }

  /**
   * Sends a browser tool's result outside a chat request. AI SDK sends results with the last message only, so this is the
   * way for a call in an older message. Resolves when the server has accepted it; the model's response is a turn that no
   * request asked for.
   */
  sendToolResult(result: ToolResult): Promise<void> {
    return this.#ask((loaded) => loaded.sendToolResult(result));
  }

  /** Ends the streams of the chat for the page alone: the reply goes on at the server. */
  release(): void {
    this.#tell((loaded) => loaded.release());
  }

  /** Connects now, without waiting for the next attempt that is due. */
  reconnect(): void {
    this.#ask(async (loaded) => loaded.reconnect()).catch(() => undefined);
  }

  /** Leaves the chat and ends open streams with an error. The next request opens a new connection. */
  close(): void {
    if (this.#state.get() === loading) this.#state.set({ status: "closed" });
    this.#tell((loaded) => loaded.close());
  }

  /** Makes a request, as soon as the code is here. */
  async #ask<T>(request: (loaded: LoadedWebSocketTransport) => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    if (this.#loaded) return request(this.#loaded);
    this.#state.set(loading);
    const asked = this.#load().then(request);
    return new Promise((resolve, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason as Error));
      asked.then(resolve, reject).finally(() => {
        // The code has not come, or the request was stopped before it.
        if (this.#state.get() === loading) this.#state.set({ status: this.#loaded ? "idle" : "closed" });
      });
    });
  }

  /** Passes on a call that has no effect unless a request was made before it. */
  #tell(say: (loaded: LoadedWebSocketTransport) => void): void {
    if (this.#loaded) say(this.#loaded);
    else this.#loading?.then(say, () => undefined);
  }

  #load(): Promise<LoadedWebSocketTransport> {
    if (this.#loading) return this.#loading;
    this.#loading = import("./loaded-websocket-transport.ts").then(
      (module) => module.loadedWebSocketTransport(this.#options, this, this.#state),
      (error: unknown) => {
        // AI SDK takes a TypeError about the network for a request that did not reach the server.
        const message = `The network connection needs code that could not be loaded (${error as Error}). Reload the page.`;
        throw new TypeError(message, { cause: error });
      },
    );
    // The first to know, so that calls from before this moment are carried out before those from after it.
    this.#loading.then(
      (transport) => (this.#loaded = transport),
      () => {
        this.#loading = undefined;
        tellEnd(this);
      },
    );
    return this.#loading;
  }
}
