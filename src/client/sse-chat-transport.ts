import type { UIMessage, UIMessageChunk } from "ai";
import { decodeSse } from "../protocol/sse.ts";
import type { ConnectionState } from "./connection-state.ts";
import {
  type HeldTransport,
  hookedStream,
  type ReconnectOptions,
  type SendOptions,
  type ToolResult,
  type TransportHooks,
} from "./held-transport.ts";
import { isUnreached, LostReply } from "./lost-reply.ts";
import { linked } from "./linked.ts";
import { Listeners } from "./listeners.ts";
import { onlyNewMessages } from "./only-new-messages.ts";
import { OpenStream } from "./open-stream.ts";
import { reconnectDelay } from "./reconnect-delay.ts";
import { RepeatedSends } from "./repeated-sends.ts";
import { chatPath, type ServerRequest, ServerRequests, toError } from "./server-requests.ts";
import type { SseChatTransportOptions } from "./sse-chat-transport-options.ts";
import { waitBeforeRetry } from "./wait-before-retry.ts";
import { isHidden } from "./watch-network.ts";
import { watchSilence } from "./watch-silence.ts";
import { systemTimers, type Timers } from "./timers.ts";

/** Since when and how often the server could not be reached. */
interface Failing {
  since: number;
  times: number;
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
  readonly #listeners = new Listeners();
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

  subscribe = this.#listeners.subscribe;

  async sendMessages(options: SendOptions<UI_MESSAGE>): Promise<ReadableStream<UIMessageChunk>> {
    const { chatId, messages, trigger, messageId, headers, abortSignal } = options;
    const { body } = onlyNewMessages({ ...options, id: chatId });
    this.#repeated.check(body);
    const stream = this.#open(chatId, abortSignal, "sent");
    const isNew = trigger === "submit-message" && messageId === undefined && messages.at(-1)?.role === "user";
    return this.#connect(stream, (signal) => {
      const request = { body: { ...body, hold: true }, headers, signal };
      return this.#post(stream, request, isNew ? messages.at(-1)?.id : undefined);
    }) as Promise<ReadableStream<UIMessageChunk>>;
  }

  /** Sends a chat request. A new message that got no response is sent again, unless it is in the chat. */
  async #post(stream: OpenStream, request: ServerRequest, id?: string): Promise<Response> {
    const { chatId, leave } = stream;
    const { signal } = leave;
    const failing: Failing = { since: 0, times: 0 };
    for (;;) {
      stream.request = "sent";
      try {
        if (failing.times === 0 || !(await this.#has(chatId, id, signal)))
          return await this.#server.send("/stream", request);
        const resumed = await this.#resume(chatId, undefined, signal);
        if (resumed.status === 204) throw new LostReply();
        return resumed;
      } catch (error) {
        if (id === undefined || stream.isOver || !isUnreached(error)) throw error;
      }
      stream.request = "due";
      await this.#pause(failing, stream);
      signal.throwIfAborted();
    }
  }

  /** True if the chat has a message with this id. */
  async #has(chatId: string, messageId: string | undefined, signal: AbortSignal): Promise<boolean> {
    const path = `${chatPath(chatId)}/messages?limit=20`;
    const { status, body } = await this.#server.json<{ messages?: UIMessage[] }>(path, { signal });
    if (status >= 500) throw new TypeError(`The network request failed with status ${status}.`);
    return body.messages?.some(({ id }) => id === messageId) ?? false;
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
    const response = await this.#server.send(`${chatPath(chatId)}/results`, { body });
    if (!response.ok) throw await toError(response);
  }

  release(): void {
    for (const stream of this.#streams) stream.release();
  }

  reconnect(): void {
    for (const { cut } of this.#streams) cut();
  }

  close(): void {
    for (const stream of this.#streams) stream.close();
  }

  #open(chatId: string, abortSignal: AbortSignal | undefined, request?: "sent"): OpenStream {
    const stream = new OpenStream(chatId, request);
    const { leave } = stream;
    abortSignal?.throwIfAborted();
    abortSignal?.addEventListener(
      "abort",
      () => {
        leave.abort();
        // Closing the connection does not stop the reply.
        if (stream.isStoppable)
          void this.#server.send(`${chatPath(chatId)}/stop`, { method: "POST" }).catch(() => undefined);
      },
      { once: true, signal: leave.signal },
    );
    this.#streams.add(stream);
    leave.signal.addEventListener("abort", () => void this.#streams.delete(stream), { once: true });
    this.hooks.onOpen?.();
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
      stream.begin();
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
      // The chat shows the error a moment later. Then it is known whether the server has the message.
      setTimeout(() => this.hooks.onEnd?.());
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
    const failing: Failing = { since: 0, times: 0 };
    try {
      for (;;) {
        this.#become({ status: "open" });
        // Chunks without a number belong to the next one that has a number: a cut between them repeats all of them.
        let unnumbered: UIMessageChunk[] = [];
        const isResumed = last !== undefined;
        try {
          const { silenceMs = 40_000 } = this.#options;
          const isUnseen = () => {
            const { type, at } = stream.last;
            return isHidden() && type === "finish-step" && this.#now() - at >= hiddenMs;
          };
          const options = { silenceMs, now: this.#now, timers: this.#timers, isUnseen };
          stream.cut = () => connection.abort();
          for await (const { data, id } of decodeSse(watchSilence(body, connection, options))) {
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
    stream: OpenStream,
    last: string | undefined,
    failing: Failing,
  ): Promise<[ReadableStream<Uint8Array>, AbortController]> {
    const { chatId, leave } = stream;
    // Browsers allow few connections to a server. A page that is not seen and waits leaves them to the others.
    if (stream.last.type === "finish-step")
      while (isHidden() && !leave.signal.aborted) await waitBeforeRetry(longestMs, leave.signal, this.#timers);
    for (;;) {
      await this.#pause(failing, stream);
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
        if (!isUnreached(error) && !leave.signal.aborted) throw error;
      }
    }
  }

  /** Waits before the next attempt, at first shortly and then longer. Throws when it is time to give up. */
  async #pause(failing: Failing, stream: OpenStream): Promise<void> {
    const { giveUpMs = 60_000, random = Math.random } = this.#options;
    if (failing.times === 0) failing.since = this.#now();
    else if (this.#now() - failing.since >= giveUpMs)
      throw new TypeError("The network connection to the chat is lost.");
    const delay = reconnectDelay(failing.times, random);
    failing.times += 1;
    this.#become({ status: "reconnecting", retryAt: this.#now() + delay });
    const wait = linked(stream.leave.signal);
    stream.cut = () => wait.abort();
    await waitBeforeRetry(delay, wait.signal, this.#timers);
  }

  #resume(chatId: string, last: string | undefined, signal: AbortSignal): Promise<Response> {
    const headers = last === undefined ? undefined : { "last-event-id": last };
    return this.#server.send(`${chatPath(chatId)}/stream?hold=1`, { headers, signal });
  }

  #become(next: ConnectionState): void {
    if (next.status === this.#state.status && next.retryAt === this.#state.retryAt) return;
    this.#state = next;
    this.#listeners.notify();
  }
}

/** After how long a page that is not seen gives up its connection while it waits. */
const hiddenMs = 25_000;
const longestMs = 2 ** 31 - 1;
