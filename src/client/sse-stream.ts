import type { UIMessage, UIMessageChunk } from "ai";
import { decodeSse } from "../protocol/sse.ts";
import type { ConnectionState } from "./connection-state.ts";
import { hookedStream, tellEnd, type TransportHooks } from "./held-transport.ts";
import { pauseWith } from "./pause.ts";
import { retries } from "./retries.ts";
import {
  chatPath,
  mayPass,
  lostConnection,
  type ServerRequest,
  type ServerRequests,
  toError,
} from "./server-requests.ts";
import type { SseChatTransportOptions } from "./sse-chat-transport-options.ts";
import { isHidden, watchReturn } from "./watch-return.ts";

/** After how long a page that is not seen gives up its connection while it waits. */
const hiddenMs = 25_000;

export type SseStream = ReturnType<typeof sseStream>;

/**
 * One stream of a chat over HTTP, which outlives its connections:
 *
 *     request ──► read ──► wait ──► request ──► read …
 *
 * To read and to wait end in the same ways: after a time, by `cut`, when the person or the network comes back, and when the
 * page leaves the stream.
 */
export function sseStream(
  chatId: string,
  options: SseChatTransportOptions,
  server: ServerRequests,
  transport: { hooks: TransportHooks },
  become: (state: ConnectionState) => void,
) {
  const { onChunk, silenceMs = 40_000 } = options;
  const { now, timers, next, reset } = retries(options);
  const path = chatPath(chatId);
  const leave = new AbortController();
  const { signal: left } = leave;
  /** The reading or the wait that goes on. */
  const { begin: start, last: endAfter, end: cut } = pauseWith(timers);
  /** When the last bytes came; long ago while it waits. */
  let heardAt = 0;
  /** The number of the last event. */
  let position: string | undefined;
  /** The last chunk, and when it came. After the end of a step the reply may wait for an answer. */
  let lastType = "";
  let lastAt = 0;
  /** `sent` and `unsent`: its request changes the chat and has no response yet; it was sent, or waits to be sent again. */
  let phase: "reconnecting" | "sent" | "unsent" | "open" = "reconnecting";
  let isReleased = false;
  /** False if the request on its way is the last one. */
  let repeats = true;

  const unwatch = watchReturn(() => {
    // Timers may have stopped while the computer slept.
    if (now() - heardAt >= silenceMs / 2) cut();
  });
  left.addEventListener("abort", () => {
    unwatch();
    cut();
  });

  function over(status: "idle" | "closed"): void {
    leave.abort();
    become({ status });
  }

  async function wait(ms?: number): Promise<void> {
    left.throwIfAborted();
    heardAt = 0;
    await start(ms);
    left.throwIfAborted();
  }

  /** Makes a request again and again until the server can be reached: at first soon, then less often, and not for ever. */
  async function reach<T>(request: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await request();
      } catch (error) {
        if (!(error instanceof TypeError) || !repeats) throw error;
      }
      await pause();
    }
  }

  async function pause(): Promise<void> {
    const delay = next();
    if (!delay) throw lostConnection();
    if (phase === "sent") phase = "unsent";
    become({ status: "reconnecting", retryAt: now() + delay });
    await wait(delay);
  }

  /** Asks for what comes after the last event, or for the reply from its beginning. */
  async function resume(): Promise<Response> {
    const headers = position ? { "last-event-id": position } : undefined;
    const response = await server.send(`${path}/stream?hold=1`, { headers, signal: left });
    // If the server has nothing to stream, Chromium's response has an empty body instead of none.
    return response.status === 204 ? new Response() : response;
  }

  /** True if the chat has a message with this id. */
  async function has(messageId: string | undefined): Promise<boolean> {
    const reply = await server.json<{ messages?: UIMessage[] }>(`${path}/messages?limit=20`, { signal: left });
    if (mayPass(reply)) throw lostConnection();
    return reply.body.messages?.some(({ id }) => id === messageId) ?? false;
  }

  /** Makes the first request; null if the server has nothing to stream. */
  async function begin(request: () => Promise<Response>): Promise<ReadableStream<UIMessageChunk> | null> {
    transport.hooks.onOpen?.();
    become({ status: "connecting" });
    try {
      const response = await request();
      if (!response.ok) throw await toError(response);
      const isMessage = phase !== "reconnecting";
      // The server has the request.
      phase = "open";
      repeats = true;
      reset();
      if (isReleased) leave.abort();
      left.throwIfAborted();
      if (response.body) return hookedStream(chunks(response.body), transport, () => leave.abort());
      // The reply to a message is over before it could be read.
      if (isMessage) throw lostConnection();
      over("idle");
      return null;
    } catch (error) {
      const isLeft = left.aborted;
      over(isLeft ? "idle" : "closed");
      // The chat shows the error before. Then it is known whether the server has the message.
      tellEnd(transport);
      if (isLeft) throw left.reason;
      throw error instanceof TypeError ? lostConnection() : error;
    }
  }

  async function* chunks(body: ReadableStream<Uint8Array>): AsyncGenerator<UIMessageChunk> {
    try {
      for (;;) {
        become({ status: "open" });
        // Chunks without a number belong to the next one that has a number: a cut between them repeats all of them.
        let unnumbered: UIMessageChunk[] = [];
        const isResumed = Boolean(position);
        let isLost = false;
        try {
          left.throwIfAborted();
          hear();
          for await (const { data, id } of decodeSse(body, { until: start(), onRead: hear })) {
            if (data === "[DONE]") return yield* unnumbered;
            const chunk = JSON.parse(data) as UIMessageChunk;
            lastType = chunk.type;
            lastAt = now();
            transport.hooks.onArrival?.(chunk);
            onChunk?.(chunk);
            // The server has withdrawn what the chat has of this message.
            isLost = isResumed && chunk.type === "start";
            if (isLost) break;
            unnumbered.push(chunk);
            if (id === position) continue;
            position = id;
            reset();
            yield* unnumbered;
            unnumbered = [];
          }
        } catch {
          // The connection was cut.
        }
        left.throwIfAborted();
        if (isLost) throw lostConnection();
        // Browsers allow few connections to a server. A page that is not seen and waits leaves them to the others.
        if (lastType === "finish-step") while (isHidden()) await wait();
        await pause();
        body = await reopen();
      }
    } catch (error) {
      if (!left.aborted) throw error;
    } finally {
      over("idle");
    }
  }

  /** Bytes have come. The connection is cut when no more come for a while, for example after the computer has slept. */
  function hear(): void {
    heardAt = now();
    endAfter(silenceMs);
    if (lastType === "finish-step" && isHidden() && heardAt - lastAt >= hiddenMs) cut();
  }

  /** Opens the next connection. */
  async function reopen(): Promise<ReadableStream<Uint8Array>> {
    const response = await reach(async () => {
      const resumed = await resume();
      if (mayPass(resumed)) throw lostConnection();
      return resumed;
    });
    if (!response.body || response.status === 404) throw lostConnection();
    // A server that refuses for good would refuse again.
    if (!response.ok) throw await toError(response);
    return response.body;
  }

  /** Leaves the stream. A request on its way is not cut, because the server might not get it. */
  function release(): void {
    isReleased = true;
    if (phase === "reconnecting" || phase === "open") leave.abort();
  }

  return {
    /** Aborts when the page leaves the stream. */
    left,

    /** Begins with a chat request. That of a new message (`id`) is sent again if it got no response, unless it is in the chat. */
    send(request: ServerRequest, id?: string): Promise<ReadableStream<UIMessageChunk> | null> {
      phase = "sent";
      repeats = id !== undefined;
      return begin(() =>
        reach(async () => {
          const isRepeated = phase === "unsent";
          phase = "sent";
          if (isRepeated && (await has(id))) return resume();
          return server.send("/stream", { ...request, signal: left });
        }),
      );
    },

    /** Begins with the reply that runs or waits; null if there is none. */
    resume: () => begin(resume),

    /** Ends the connection in use, or the wait for the next one, which is opened at once. */
    cut,

    /** Leaves the stream, and stops the reply. */
    stop(): void {
      leave.abort();
      // A request to resume is aborted only to make it once more.
      if (phase !== "reconnecting") server.send(`${path}/stop`, { body: {} }).catch(() => undefined);
    },

    release,

    /** The page is left too: a request on its way is the last one. */
    close(): void {
      repeats = false;
      if (phase === "unsent") leave.abort();
      release();
    },
  };
}
