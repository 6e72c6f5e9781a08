import type { UIMessage, UIMessageChunk } from "ai";
import { decodeSse } from "../protocol/sse.ts";
import type { ConnectionState } from "./connection-state.ts";
import { hookedStream, type TransportHooks } from "./held-transport.ts";
import { linked } from "./linked.ts";
import { isUnreached, LostReply } from "./lost-reply.ts";
import { reconnectDelay } from "./reconnect-delay.ts";
import { chatPath, type ServerRequest, type ServerRequests, toError } from "./server-requests.ts";
import type { SseChatTransportOptions } from "./sse-chat-transport-options.ts";
import { systemTimers } from "./timers.ts";
import { waitBeforeRetry } from "./wait-before-retry.ts";
import { isHidden } from "./watch-return.ts";
import { watchSilence } from "./watch-silence.ts";

/** What the streams of a transport have in common. */
interface StreamOwner {
  options: SseChatTransportOptions;
  server: ServerRequests;
  transport: { hooks: TransportHooks };
  become: (state: ConnectionState) => void;
}

/** After how long a page that is not seen gives up its connection while it waits. */
const hiddenMs = 25_000;
const longestMs = 2 ** 31 - 1;

/** One stream of a chat over HTTP, which outlives its connections. */
export class SseStream {
  readonly #chatId: string;
  readonly #owner: StreamOwner;
  readonly #now: () => number;
  readonly #leave = new AbortController();
  /** Aborts when the page leaves the stream. */
  readonly left = this.#leave.signal;
  /** Ends the connection in use, or the wait for the next one, which is opened at once. */
  cut: () => void = () => undefined;
  /** The number of the last event. */
  #position: string | undefined;
  /** The last chunk, and when it came. After the end of a step the reply may wait for an answer. */
  #last = { type: "", at: 0 };
  /** Since when and how often the server could not be reached. */
  #failing = { since: 0, times: 0 };
  /** `sent` and `due`: its request changes the chat and has no response yet; it was sent, or waits to be sent again. */
  #phase: "resuming" | "sent" | "due" | "begun" = "resuming";
  #isReleased = false;
  #isClosed = false;

  constructor(chatId: string, owner: StreamOwner) {
    this.#chatId = chatId;
    this.#owner = owner;
    this.#now = owner.options.now ?? Date.now;
  }

  /** Begins with a chat request. That of a new message (`id`) is sent again if it got no response, unless it is in the chat. */
  send(request: ServerRequest, id?: string): Promise<ReadableStream<UIMessageChunk> | null> {
    this.#phase = "sent";
    return this.#begin(async (signal) => {
      for (;;) {
        try {
          if (this.#failing.times === 0 || !(await this.#has(id, signal)))
            return await this.#owner.server.send("/stream", { ...request, signal });
          const resumed = await this.#resume(signal);
          if (resumed.status === 204) throw new LostReply();
          return resumed;
        } catch (error) {
          if (id === undefined || this.#isClosed || signal.aborted || !isUnreached(error)) throw error;
        }
        this.#phase = "due";
        await this.#pause();
        signal.throwIfAborted();
        this.#phase = "sent";
      }
    });
  }

  /** Begins with the reply that runs or waits; null if there is none. */
  resume(): Promise<ReadableStream<UIMessageChunk> | null> {
    return this.#begin((signal) => this.#resume(signal));
  }

  /** Leaves the stream, and stops the reply. */
  stop(): void {
    this.#leave.abort();
    // A request to resume is aborted only to make it once more.
    if (this.#phase !== "resuming")
      void this.#owner.server.send(`${chatPath(this.#chatId)}/stop`, { method: "POST" }).catch(() => undefined);
  }

  /** Leaves the stream. A request on its way is not cut, because the server might not get it. */
  release(): void {
    this.#isReleased = true;
    if (this.#phase === "resuming" || this.#phase === "begun") this.#leave.abort();
  }

  /** The page is left too: a request on its way is the last one. */
  close(): void {
    this.#isClosed = true;
    if (this.#phase === "due") this.#leave.abort();
    this.release();
  }

  /** Makes the first request; null if the server has nothing to stream. */
  async #begin(request: (signal: AbortSignal) => Promise<Response>): Promise<ReadableStream<UIMessageChunk> | null> {
    const { become, transport } = this.#owner;
    transport.hooks.onOpen?.();
    const connection = linked(this.left);
    become({ status: "connecting" });
    try {
      const response = await request(connection.signal);
      if (!response.ok) throw await toError(response);
      // The server has the request.
      this.#phase = "begun";
      this.#failing.times = 0;
      if (this.#isReleased) this.#leave.abort();
      this.left.throwIfAborted();
      if (response.body && response.status !== 204)
        return hookedStream(this.#chunks(response.body, connection), transport, () => this.#leave.abort());
      this.#leave.abort();
      become({ status: "idle" });
      return null;
    } catch (error) {
      const isLeft = this.left.aborted;
      this.#leave.abort();
      become({ status: isLeft ? "idle" : "closed" });
      // The chat shows the error a moment later. Then it is known whether the server has the message.
      setTimeout(() => transport.hooks.onEnd?.());
      if (isLeft) throw this.left.reason;
      throw error instanceof TypeError ? new TypeError(`The network request failed. ${error.message}`) : error;
    }
  }

  async *#chunks(first: ReadableStream<Uint8Array>, firstConnection: AbortController): AsyncGenerator<UIMessageChunk> {
    const { become, options, transport } = this.#owner;
    const { silenceMs = 40_000, timers = systemTimers, onChunk } = options;
    let [body, connection] = [first, firstConnection];
    const isUnseen = () => isHidden() && this.#last.type === "finish-step" && this.#now() - this.#last.at >= hiddenMs;
    try {
      for (;;) {
        become({ status: "open" });
        // Chunks without a number belong to the next one that has a number: a cut between them repeats all of them.
        let unnumbered: UIMessageChunk[] = [];
        const isResumed = this.#position !== undefined;
        try {
          this.cut = () => connection.abort();
          const bytes = watchSilence(body, connection, { silenceMs, now: this.#now, timers, isUnseen });
          for await (const { data, id } of decodeSse(bytes)) {
            if (data === "[DONE]") return yield* unnumbered;
            const chunk = JSON.parse(data) as UIMessageChunk;
            this.#last = { type: chunk.type, at: this.#now() };
            transport.hooks.onArrival?.(chunk);
            onChunk?.(chunk);
            // The server has withdrawn what the chat has of this message.
            if (isResumed && chunk.type === "start") throw new LostReply();
            unnumbered.push(chunk);
            if (id === this.#position) continue;
            this.#position = id;
            this.#failing.times = 0;
            yield* unnumbered;
            unnumbered = [];
          }
        } catch (error) {
          if (error instanceof LostReply) throw error;
        }
        if (this.left.aborted) return;
        [body, connection] = await this.#reopen();
        if (this.left.aborted) return;
      }
    } finally {
      this.#leave.abort();
      become({ status: "idle" });
    }
  }

  /** Opens the next connection, at first soon and then less often. */
  async #reopen(): Promise<[ReadableStream<Uint8Array>, AbortController]> {
    const { timers = systemTimers } = this.#owner.options;
    // Browsers allow few connections to a server. A page that is not seen and waits leaves them to the others.
    if (this.#last.type === "finish-step")
      while (isHidden() && !this.left.aborted) await waitBeforeRetry(longestMs, this.left, timers);
    for (;;) {
      await this.#pause();
      const connection = linked(this.left);
      if (this.left.aborted) return [new ReadableStream(), connection];
      try {
        const response = await this.#resume(connection.signal);
        if (response.status === 204 || response.status === 404) throw new LostReply();
        if (response.ok && response.body) return [response.body, connection];
        const error = await toError(response);
        // A server that refuses for good would refuse again.
        if (error.retryAfter === undefined && response.status < 500) throw error;
      } catch (error) {
        if (!isUnreached(error) && !this.left.aborted) throw error;
      }
    }
  }

  /** Waits before the next attempt, at first shortly and then longer. Throws when it is time to give up. */
  async #pause(): Promise<void> {
    const { options, become } = this.#owner;
    const { giveUpMs = 60_000, random = Math.random, timers = systemTimers } = options;
    const failing = this.#failing;
    const now = this.#now();
    if (failing.times === 0) failing.since = now;
    else if (now - failing.since >= giveUpMs) throw new TypeError("The network connection to the chat is lost.");
    const delay = reconnectDelay(failing.times, random);
    failing.times += 1;
    become({ status: "reconnecting", retryAt: now + delay });
    const wait = linked(this.left);
    this.cut = () => wait.abort();
    await waitBeforeRetry(delay, wait.signal, timers);
  }

  /** Asks for what comes after the last event, or for the reply from its beginning. */
  #resume(signal: AbortSignal): Promise<Response> {
    const headers = this.#position === undefined ? undefined : { "last-event-id": this.#position };
    return this.#owner.server.send(`${chatPath(this.#chatId)}/stream?hold=1`, { headers, signal });
  }

  /** True if the chat has a message with this id. */
  async #has(messageId: string | undefined, signal: AbortSignal): Promise<boolean> {
    const path = `${chatPath(this.#chatId)}/messages?limit=20`;
    const { status, body } = await this.#owner.server.json<{ messages?: UIMessage[] }>(path, { signal });
    if (status >= 500) throw new TypeError(`The network request failed with status ${status}.`);
    return body.messages?.some(({ id }) => id === messageId) ?? false;
  }
}
