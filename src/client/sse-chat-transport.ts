import type { ChatTransport, UIMessage, UIMessageChunk } from "ai";
import { decodeSse } from "../protocol/sse.ts";
import type { ConnectionState } from "./connection-state.ts";
import { type HeldTransport, hookedStream, type ToolResult, type TransportHooks } from "./held-transport.ts";
import { LostReply } from "./lost-reply.ts";
import { linked } from "./linked.ts";
import { onlyNewMessages } from "./only-new-messages.ts";
import { reconnectDelay } from "./reconnect-delay.ts";
import { RepeatedSends } from "./repeated-sends.ts";
import { type ServerOptions, ServerRequests, toError } from "./server-requests.ts";
import { isHidden, watchReturn } from "./watch-network.ts";
import { systemTimers, type Timers } from "./timers.ts";

export interface SseChatTransportOptions extends ServerOptions {
  /** Called with every chunk as it comes. */
  onChunk?: (chunk: UIMessageChunk) => void;
  /** After how long without a byte a connection counts as lost. The server sends something every 15 seconds. Default 40 s. */
  silenceMs?: number;
  /** How long to try to restore a lost connection. Default 60 seconds. */
  giveUpMs?: number;
  now?: () => number;
  random?: () => number;
  timers?: Timers;
}

type SendOptions<UI_MESSAGE extends UIMessage> = Parameters<ChatTransport<UI_MESSAGE>["sendMessages"]>[0];
type ReconnectOptions<UI_MESSAGE extends UIMessage> = Parameters<ChatTransport<UI_MESSAGE>["reconnectToStream"]>[0];

/** One stream of the chat, which outlives its connections. */
interface OpenStream {
  chatId: string;
  /** Aborts when the page leaves the stream. */
  leave: AbortController;
  /** Ends the connection in use, so that the next one is opened at once. */
  cut: () => void;
  /** The last chunk, and when it came. After the end of a step the reply may wait for an answer. */
  last: { type: string; at: number };
}

/**
 * A chat over HTTP with streams that stay open while a call waits (`hold` in PROTOCOL.md §1). The answer goes beside the
 * stream, so a whole approval takes one request. A stream that was cut goes on after the last event that came, without a
 * lost or repeated chunk.
 */
export class SseChatTransport<UI_MESSAGE extends UIMessage = UIMessage> implements HeldTransport<UI_MESSAGE> {
  readonly resumeStreamIsReplay = true;
  readonly resumesPaused = true;
  hooks: TransportHooks = {};
  readonly #options: SseChatTransportOptions;
  readonly #server: ServerRequests;
  readonly #timers: Timers;
  readonly #now: () => number;
  readonly #listeners = new Set<() => void>();
  readonly #repeated = new RepeatedSends();
  #state: ConnectionState = { status: "idle" };
  readonly #streams = new Set<OpenStream>();

  constructor(options: SseChatTransportOptions = {}) {
    this.#options = options;
    this.#server = new ServerRequests(options);
    this.#timers = options.timers ?? systemTimers;
    this.#now = options.now ?? Date.now;
  }

  getState = (): ConnectionState => this.#state;

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  async sendMessages(options: SendOptions<UI_MESSAGE>): Promise<ReadableStream<UIMessageChunk>> {
    const { chatId: id, messages, trigger, messageId, body, headers, abortSignal } = options;
    const { body: sent } = onlyNewMessages({ id, messages, trigger, messageId, body });
    this.#repeated.check(sent);
    const stream = this.#open(id, abortSignal);
    return this.#connect(stream, async (signal) => {
      return this.#server.send("/stream", { body: { ...sent, hold: true }, headers, signal });
    }) as Promise<ReadableStream<UIMessageChunk>>;
  }

  async reconnectToStream(options: ReconnectOptions<UI_MESSAGE>): Promise<ReadableStream<UIMessageChunk> | null> {
    const { chatId, abortSignal } = options;
    const stream = this.#open(chatId, abortSignal);
    return this.#connect(stream, (signal) => this.#resume(chatId, undefined, signal));
  }

  async sendToolResult({ chatId, toolCallId, result }: ToolResult): Promise<void> {
    const { error, ...rest } = Object(result) as { error?: unknown };
    const isError = typeof error === "string" && Object.keys(rest).length === 0;
    const body = { toolCallId, ...(isError ? { error: error.slice(0, 4000) } : { result: result ?? null }) };
    const response = await this.#server.send(`${pathOf(chatId)}/results`, { body });
    if (!response.ok) throw await toError(response);
  }

  release(): void {
    for (const { leave } of this.#streams) leave.abort();
  }

  reconnect(): void {
    for (const { cut } of this.#streams) cut();
  }

  close(): void {
    this.release();
  }

  #open(chatId: string, abortSignal: AbortSignal | undefined): OpenStream {
    const leave = new AbortController();
    abortSignal?.throwIfAborted();
    abortSignal?.addEventListener(
      "abort",
      () => {
        leave.abort();
        // Closing the connection does not stop the reply.
        void this.#server.send(`${pathOf(chatId)}/stop`, { method: "POST" }).catch(() => undefined);
      },
      { once: true, signal: leave.signal },
    );
    const stream = { chatId, leave, cut: () => undefined, last: { type: "", at: 0 } };
    this.#streams.add(stream);
    leave.signal.addEventListener("abort", () => void this.#streams.delete(stream), { once: true });
    return stream;
  }

  /** Makes the first request of a stream; null if the server has nothing to stream. */
  async #connect(
    stream: OpenStream,
    request: (signal: AbortSignal) => Promise<Response>,
  ): Promise<ReadableStream<UIMessageChunk> | null> {
    const connection = linked(stream.leave.signal);
    this.#become({ status: "connecting" });
    try {
      const response = await request(connection.signal);
      if (!response.ok) throw await toError(response);
      if (!response.body || response.status === 204) {
        stream.leave.abort();
        this.#become({ status: "idle" });
        return null;
      }
      return hookedStream(this.#chunks(stream, response.body, connection), this, () => stream.leave.abort());
    } catch (error) {
      const isLeft = stream.leave.signal.aborted;
      stream.leave.abort();
      this.#become({ status: isLeft ? "idle" : "closed" });
      if (isLeft) throw new DOMException("The chat request was stopped.", "AbortError");
      throw error instanceof TypeError ? new TypeError(`The network request failed. ${error.message}`) : error;
    }
  }

  async *#chunks(
    stream: OpenStream,
    first: ReadableStream<Uint8Array>,
    firstConnection: AbortController,
  ): AsyncGenerator<UIMessageChunk> {
    const { signal } = stream.leave;
    let [body, connection] = [first, firstConnection];
    let last: string | undefined;
    const failing = { since: 0, times: 0 };
    try {
      for (;;) {
        this.#become({ status: "open" });
        // Chunks without a number belong to the next one that has a number: a cut between them repeats all of them.
        let unnumbered: UIMessageChunk[] = [];
        const isResumed = last !== undefined;
        try {
          for await (const { data, id } of decodeSse(this.#watched(stream, body, connection))) {
            if (data === "[DONE]") return yield* unnumbered;
            const chunk = JSON.parse(data) as UIMessageChunk;
            stream.last = { type: chunk.type, at: this.#now() };
            this.hooks.onArrival?.(chunk);
            this.#options.onChunk?.(chunk);
            // The server has withdrawn what the chat has of this message.
            if (isResumed && chunk.type === "start") throw new LostReply();
            unnumbered.push(chunk);
            if (id === last) continue;
            last = id;
            failing.times = 0;
            yield* unnumbered;
            unnumbered = [];
          }
        } catch (error) {
          if (error instanceof LostReply) throw error;
        }
        if (signal.aborted) return;
        [body, connection] = await this.#reopen(stream, last, failing);
        if (signal.aborted) return;
      }
    } finally {
      stream.leave.abort();
      this.#become({ status: "idle" });
    }
  }

  /** Opens the next connection of a stream, at first soon and then less often. */
  async #reopen(
    { chatId, leave, last: { type } }: OpenStream,
    last: string | undefined,
    failing: { since: number; times: number },
  ): Promise<[ReadableStream<Uint8Array>, AbortController]> {
    const { giveUpMs = 60_000, random = Math.random } = this.#options;
    // Browsers allow few connections to a server. A page that is not seen and waits leaves them to the others.
    if (type === "finish-step") while (isHidden() && !leave.signal.aborted) await this.#wait(longestMs, leave.signal);
    if (failing.times === 0) failing.since = this.#now();
    for (;;) {
      const delay = reconnectDelay(failing.times, random);
      failing.times += 1;
      this.#become({ status: "reconnecting", retryAt: this.#now() + delay });
      await this.#wait(delay, leave.signal);
      const connection = linked(leave.signal);
      if (leave.signal.aborted) return [new ReadableStream(), connection];
      try {
        const response = await this.#resume(chatId, last, connection.signal);
        if (response.status === 204 || response.status === 404) throw new LostReply();
        if (response.ok && response.body) return [response.body, connection];
        const error = await toError(response);
        // A server that refuses for good would refuse again.
        if (error.retryAfter === undefined && response.status < 500) throw error;
      } catch (error) {
        const isNetwork = error instanceof TypeError && !(error instanceof LostReply);
        if (!isNetwork && !leave.signal.aborted) throw error;
      }
      if (this.#now() - failing.since >= giveUpMs) throw new TypeError("The network connection to the chat is lost.");
    }
  }

  #resume(chatId: string, last: string | undefined, signal: AbortSignal): Promise<Response> {
    const headers = last === undefined ? undefined : { "last-event-id": last };
    return this.#server.send(`${pathOf(chatId)}/stream?hold=1`, { headers, signal });
  }

  /** The same bytes. Ends the connection when none come for a while, for example after the computer has slept. */
  #watched(
    stream: OpenStream,
    body: ReadableStream<Uint8Array>,
    connection: AbortController,
  ): ReadableStream<Uint8Array> {
    const { silenceMs = 40_000 } = this.#options;
    let timer: unknown;
    let at = 0;
    const listen = () => {
      at = this.#now();
      this.#timers.clearTimeout(timer);
      timer = this.#timers.setTimeout(() => connection.abort(), silenceMs);
      const { type, at: since } = stream.last;
      if (isHidden() && type === "finish-step" && at - since >= hiddenMs) connection.abort();
    };
    listen();
    stream.cut = () => connection.abort();
    const unwatch = watchReturn(() => {
      // Timers may have stopped while the computer slept.
      if (this.#now() - at >= silenceMs / 2) connection.abort();
    });
    const over = () => {
      this.#timers.clearTimeout(timer);
      unwatch();
    };
    connection.signal.addEventListener("abort", over, { once: true });
    return body.pipeThrough(
      new TransformStream({
        transform(bytes: Uint8Array, controller) {
          listen();
          controller.enqueue(bytes);
        },
        flush: over,
      }),
      { signal: connection.signal },
    );
  }

  #wait(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const unwatch = watchReturn(() => end());
      const timer = this.#timers.setTimeout(() => end(), ms);
      const end = () => {
        unwatch();
        this.#timers.clearTimeout(timer);
        signal.removeEventListener("abort", end);
        resolve();
      };
      signal.addEventListener("abort", end);
      if (signal.aborted) end();
    });
  }

  #become(next: ConnectionState): void {
    if (next.status === this.#state.status && next.retryAt === this.#state.retryAt) return;
    this.#state = next;
    for (const listener of [...this.#listeners]) listener();
  }
}

/** After how long a page that is not seen gives up its connection while it waits. */
const hiddenMs = 25_000;
const longestMs = 2 ** 31 - 1;

function pathOf(chatId: string): string {
  return `/stream/${encodeURIComponent(chatId)}`;
}
