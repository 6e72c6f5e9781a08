import { UI_MESSAGE_STREAM_HEADERS, type UIMessageChunk } from "ai";
import type { Bridge, Logger, Reply } from "../agent/index.ts";
import { encodeSseEvent, sseComment, sseDone } from "../protocol/index.ts";
import type { Translate } from "./dialect.ts";

const keepAliveMs = 15_000;

interface ReadOptions {
  logger: Logger;
  /** Leaves out the events up to this sequence number: the reader has them. */
  after?: number;
}

/**
 * A reply as an event stream: each chunk one event with its sequence number as the id, `[DONE]` once at the end. It is
 * pulled, so a reader that is slow or gone holds a cursor and nothing else; its going away stops nothing.
 */
export function sseResponse(bridge: Bridge, reply: Reply, translate: Translate, options: ReadOptions): Response {
  const reader = new AbortController();
  const texts = encode(bridge, reply, translate, { ...options, signal: reader.signal });
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await texts.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    async cancel() {
      reader.abort();
      await texts.return(undefined);
    },
  });
  return new Response(body, { headers: UI_MESSAGE_STREAM_HEADERS });
}

async function* encode(
  bridge: Bridge,
  reply: Reply,
  translate: Translate,
  { after = -1, logger, signal }: ReadOptions & { signal: AbortSignal },
): AsyncGenerator<string> {
  const batches = "turn" in reply ? bridge.read(reply, { signal }) : single(reply.chunks());
  try {
    for await (const batch of withKeepAlive(batches)) {
      let text = "";
      if (batch === "idle") text = sseComment("keep-alive");
      else
        for (const { chunk, sequence } of batch) {
          // The translator sees the whole turn, also for a reader that wants only its end: what it says depends on it.
          const translated = await translate(chunk);
          if (sequence === undefined || sequence > after) text += encodeChunk(translated, sequence);
        }
      if (text) yield text;
    }
  } catch (error) {
    logger.error("Reading a turn failed.", { error: error instanceof Error ? error.stack : String(error) });
    const errorText = "Something went wrong on the server. The details are in its log.";
    yield encodeSseEvent({ type: "error", errorText } satisfies UIMessageChunk);
  }
  yield sseDone;
}

/** One chunk of the log may be several of a dialect. The last one has the id: whoever was cut off before it gets all again. */
function encodeChunk(translated: readonly UIMessageChunk[], sequence: number | undefined): string {
  return translated
    .map((chunk, index) => encodeSseEvent(chunk, index === translated.length - 1 ? sequence : undefined))
    .join("");
}

async function* single(
  chunks: AsyncGenerator<UIMessageChunk>,
): AsyncGenerator<{ chunk: UIMessageChunk; sequence?: number }[]> {
  for await (const chunk of chunks) yield [{ chunk }];
}

/** Says "idle" while nothing comes: proxies close what looks dead, and a tool may take its time. */
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
