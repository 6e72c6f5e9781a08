import type { UIMessage, UIMessageChunk } from "ai";
import { decodeSse } from "../protocol/sse.ts";
import { clockOf } from "./clock.ts";
import type { ConnectionState } from "./connection-state.ts";
import { hookedStream, tellEnd, type TransportHooks } from "./held-transport.ts";
import { linked } from "./linked.ts";
import { isUnreached, LostReply } from "./lost-reply.ts";
import { retries } from "./retries.ts";
import { chatPath, mayPass, type ServerRequest, type ServerRequests, toError } from "./server-requests.ts";
import type { SseChatTransportOptions } from "./sse-chat-transport-options.ts";
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

export type SseStream = ReturnType<typeof sseStream>;

/** One stream of a chat over HTTP, which outlives its connections. */
export function sseStream(chatId: string, { options, server, transport, become }: StreamOwner) {
  const { onChunk } = options;
  const { now, timers } = clockOf(options);
  const { next, reset } = retries(options);
  const leave = new AbortController();
  const { signal: left } = leave;
  /** The connection in use, or the wait for the next one. */
  let inUse: AbortController | undefined;
  /** The number of the last event. */
  let position: string | undefined;
  /** The last chunk, and when it came. After the end of a step the reply may wait for an answer. */
  let last = { type: "", at: 0 };
  /** `sent` and `due`: its request changes the chat and has no response yet; it was sent, or waits to be sent again. */
  let phase: "resuming" | "sent" | "due" | "begun" = "resuming";
  let isReleased = false;
  let isClosed = false;

  const wait = (ms: number): Promise<void> => {
    inUse = linked(left);
    return waitBeforeRetry(ms, inUse.signal, timers);
  };

  /** Waits before the next attempt, at first shortly and then longer. Throws when it is time to give up. */
  async function pause(): Promise<void> {
    const delay = next();
    if (delay === 0) throw new TypeError("The network connection to the chat is lost.");
    become({ status: "reconnecting", retryAt: now() + delay });
    await wait(delay);
    left.throwIfAborted();
  }

  /** Makes a request again and again until the server can be reached. */
  async function reach<T>(request: () => Promise<T>, mayRepeat = () => true): Promise<T> {
    for (;;) {
      try {
        return await request();
      } catch (error) {
        if (!isUnreached(error) || !mayRepeat()) throw error;
      }
      await pause();
    }
  }

  /** Asks for what comes after the last event, or for the reply from its beginning. */
  function resume(signal: AbortSignal): Promise<Response> {
    const headers = position === undefined ? undefined : { "last-event-id": position };
    return server.send(`${chatPath(chatId)}/stream?hold=1`, { headers, signal });
  }

  /** True if the chat has a message with this id. */
  async function has(messageId: string | undefined, signal: AbortSignal): Promise<boolean> {
    const reply = await server.json<{ messages?: UIMessage[] }>(`${chatPath(chatId)}/messages?limit=20`, { signal });
    if (mayPass(reply)) throw new TypeError(`The network request failed with status ${reply.status}.`);
    return reply.body.messages?.some(({ id }) => id === messageId) ?? false;
  }

  /** Makes the first request; null if the server has nothing to stream. */
  async function begin(
    request: (signal: AbortSignal) => Promise<Response>,
  ): Promise<ReadableStream<UIMessageChunk> | null> {
    transport.hooks.onOpen?.();
    const connection = linked(left);
    become({ status: "connecting" });
    try {
      const response = await request(connection.signal);
      if (!response.ok) throw await toError(response);
      // The server has the request.
      phase = "begun";
      reset();
      if (isReleased) leave.abort();
      left.throwIfAborted();
      if (response.body) return hookedStream(chunks(response.body, connection), transport, () => leave.abort());
      leave.abort();
      become({ status: "idle" });
      return null;
    } catch (error) {
      const isLeft = left.aborted;
      leave.abort();
      become({ status: isLeft ? "idle" : "closed" });
      // The chat shows the error before. Then it is known whether the server has the message.
      tellEnd(transport);
      if (isLeft) throw left.reason;
      throw error instanceof TypeError ? new TypeError(`The network request failed. ${error.message}`) : error;
    }
  }

  async function* chunks(body: ReadableStream<Uint8Array>, connection: AbortController) {
    const isUnseen = () => isHidden() && last.type === "finish-step" && now() - last.at >= hiddenMs;
    try {
      for (;;) {
        become({ status: "open" });
        inUse = connection;
        // Chunks without a number belong to the next one that has a number: a cut between them repeats all of them.
        let unnumbered: UIMessageChunk[] = [];
        const isResumed = position !== undefined;
        try {
          for await (const { data, id } of decodeSse(watchSilence(body, connection, options, isUnseen))) {
            if (data === "[DONE]") return yield* unnumbered;
            const chunk = JSON.parse(data) as UIMessageChunk;
            last = { type: chunk.type, at: now() };
            transport.hooks.onArrival?.(chunk);
            onChunk?.(chunk);
            // The server has withdrawn what the chat has of this message.
            if (isResumed && chunk.type === "start") throw new LostReply();
            unnumbered.push(chunk);
            if (id === position) continue;
            position = id;
            reset();
            yield* unnumbered;
            unnumbered = [];
          }
        } catch (error) {
          if (error instanceof LostReply) throw error;
        }
        left.throwIfAborted();
        // Browsers allow few connections to a server. A page that is not seen and waits leaves them to the others.
        if (last.type === "finish-step") while (isHidden() && !left.aborted) await wait(longestMs);
        await pause();
        [body, connection] = await reach(reopen);
      }
    } catch (error) {
      if (!left.aborted) throw error;
    } finally {
      leave.abort();
      become({ status: "idle" });
    }
  }

  /** Opens the next connection. */
  async function reopen(): Promise<[ReadableStream<Uint8Array>, AbortController]> {
    const connection = linked(left);
    const response = await resume(connection.signal);
    if (response.status === 204 || response.status === 404) throw new LostReply();
    if (response.ok && response.body) return [response.body, connection];
    const error = await toError(response);
    // A server that refuses for good would refuse again.
    throw mayPass(response) ? new TypeError(error.message) : error;
  }

  /** Leaves the stream. A request on its way is not cut, because the server might not get it. */
  function release(): void {
    isReleased = true;
    if (phase === "resuming" || phase === "begun") leave.abort();
  }

  return {
    /** Aborts when the page leaves the stream. */
    left,

    /** Begins with a chat request. That of a new message (`id`) is sent again if it got no response, unless it is in the chat. */
    send(request: ServerRequest, id?: string): Promise<ReadableStream<UIMessageChunk> | null> {
      let isRepeated = false;
      phase = "sent";
      return begin((signal) => {
        const attempt = async () => {
          phase = "sent";
          if (!isRepeated || !(await has(id, signal))) {
            isRepeated = true;
            return server.send("/stream", { ...request, signal });
          }
          const resumed = await resume(signal);
          if (resumed.status === 204) throw new LostReply();
          return resumed;
        };
        return reach(attempt, () => {
          phase = "due";
          return id !== undefined && !isClosed && !signal.aborted;
        });
      });
    },

    /** Begins with the reply that runs or waits; null if there is none. */
    resume: () => begin(resume),

    /** Ends the connection in use, or the wait for the next one, which is opened at once. */
    cut: (): void => inUse?.abort(),

    /** Leaves the stream, and stops the reply. */
    stop(): void {
      leave.abort();
      // A request to resume is aborted only to make it once more.
      if (phase !== "resuming") server.send(`${chatPath(chatId)}/stop`, { body: {} }).catch(() => undefined);
    },

    release,

    /** The page is left too: a request on its way is the last one. */
    close(): void {
      isClosed = true;
      if (phase === "due") leave.abort();
      release();
    },
  };
}
