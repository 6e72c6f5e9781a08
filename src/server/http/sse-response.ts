import { UI_MESSAGE_STREAM_HEADERS, type UIMessageChunk } from "ai";
import { type Bridge, type Logger, metrics, type Reply, ReplyMoved } from "../../agent/index.ts";
import { encodeSseEvent, sseComment, sseDone } from "../../protocol/index.ts";
import { toRefusal } from "../refusal.ts";
import type { View } from "../views/index.ts";

const keepAliveMs = 15_000;

interface ReadOptions {
  logger: Logger;
  /** Leaves out the events up to this sequence number: the reader has them. */
  after?: number | undefined;
  /** The stream stays open while the reply waits, and goes on with the turns that continue its message. */
  hold?: boolean | undefined;
  /** What the reader gets first: the message up to this sequence number. */
  first?: { chunks: readonly UIMessageChunk[]; sequence: number } | undefined;
}

/** The reason why a reader ends. Without one, each response would make an exception of its own, with a stack. */
const readerGone = new Error("The reader is gone.");

/**
 * A reply as an event stream: each chunk is one event with its sequence number as the id, and `[DONE]` comes once at the
 * end. The stream is pulled, so a slow reader costs a cursor in the log and no buffer. A reader that leaves stops only
 * its own reading.
 *
 * When the server stops, the stream of a turn is cut without `[DONE]`: its reader knows then that the reply goes on
 * elsewhere, and resumes it there.
 */
export function sseResponse(bridge: Bridge, reply: Reply, view: View, options: ReadOptions): Response {
  const reader = new AbortController();
  const texts = encode(bridge, reply, view, { ...options, signal: reader.signal });
  const encoder = new TextEncoder();
  const stopping = "turn" in reply ? bridge.stopping : undefined;
  let cut = () => {};
  const end = () => {
    if (reader.signal.aborted) return;
    stopping?.removeEventListener("abort", cut);
    metrics.connections.streams.add(-1);
    reader.abort(readerGone);
  };
  const leave = async () => {
    end();
    await texts.return(undefined);
  };
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      metrics.connections.streams.add(1);
      cut = () => {
        controller.error(stopping?.reason);
        void leave();
      };
      if (stopping?.aborted) cut();
      else stopping?.addEventListener("abort", cut);
    },
    async pull(controller) {
      const { done, value } = await texts.next().catch((error: unknown) => {
        // Nothing else is called when the stream fails.
        end();
        throw error;
      });
      if (reader.signal.aborted) return;
      if (!done) return controller.enqueue(encoder.encode(value));
      end();
      controller.close();
    },
    cancel: leave,
  });
  return new Response(body, { headers: UI_MESSAGE_STREAM_HEADERS });
}

async function* encode(
  bridge: Bridge,
  reply: Reply,
  view: View,
  { first, after = first?.sequence ?? -1, hold, logger, signal }: ReadOptions & { signal: AbortSignal },
): AsyncGenerator<string> {
  const batches =
    "turn" in reply ? bridge.read(reply, { signal, hold, ...(hold && { after }) }) : single(reply.chunks());
  try {
    if (first) yield encodeChunks(first.chunks, first.sequence);
    for await (const batch of withKeepAlive(batches)) {
      let text = "";
      if (batch === "idle") text = sseComment("keep-alive");
      else
        for (const { chunk, sequence } of batch) {
          // The view sees the whole turn even if the reader wants only its end: later chunks depend on earlier ones.
          const seen = await view(chunk);
          if (sequence === undefined || sequence > after) text += encodeChunks(seen, sequence);
        }
      if (text) yield text;
    }
  } catch (error) {
    // The connection breaks, which clients take for what it is: they ask for the reply again.
    if (error instanceof ReplyMoved) throw error;
    // A chat that was deleted, or a reader that came too late, is told in the error's own words.
    const { message } = toRefusal(error, logger, "Reading a turn failed.");
    yield encodeSseEvent({ type: "error", errorText: message } satisfies UIMessageChunk);
  }
  yield sseDone;
}

/** One chunk of the log may become several. Only the last has the id, so that a cut before it repeats all of them. */
function encodeChunks(chunks: readonly UIMessageChunk[], sequence: number | undefined): string {
  return chunks
    .map((chunk, index) => encodeSseEvent(chunk, index === chunks.length - 1 ? sequence : undefined))
    .join("");
}

async function* single(
  chunks: AsyncGenerator<UIMessageChunk>,
): AsyncGenerator<{ chunk: UIMessageChunk; sequence?: number }[]> {
  for await (const chunk of chunks) yield [{ chunk }];
}

/** Yields "idle" when nothing comes for a while: proxies close silent connections, and a tool may run for long. */
async function* withKeepAlive<T>(source: AsyncGenerator<T>): AsyncGenerator<T | "idle"> {
  try {
    for (;;) {
      const next = source.next();
      for (;;) {
        let timer: NodeJS.Timeout | undefined;
        const idle = new Promise<"idle">((resolve) => (timer = setTimeout(resolve, keepAliveMs, "idle")));
        const first = await Promise.race([next, idle]);
        clearTimeout(timer);
        if (first === "idle") {
          yield "idle";
          continue;
        }
        if (first.done) return;
        yield first.value;
        break;
      }
    }
  } finally {
    await source.return(undefined);
  }
}
