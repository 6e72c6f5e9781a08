import { UI_MESSAGE_STREAM_HEADERS, type UIMessageChunk } from "ai";
import type { Bridge, Reply } from "../agent/index.ts";
import { encodeSseEvent, sseComment, sseDone } from "../protocol/index.ts";
import type { Translate } from "./dialect.ts";

const keepAliveMs = 15_000;

/**
 * A reply as an event stream: each chunk one event with its sequence number as the id, `[DONE]` once at the end. It is
 * pulled, so a reader that is slow or gone holds a cursor and nothing else; its going away stops nothing.
 */
export function sseResponse(bridge: Bridge, reply: Reply, translate: Translate, after?: number): Response {
  const reader = new AbortController();
  const texts = encode(bridge, reply, translate, { after, signal: reader.signal });
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

async function* encode(bridge: Bridge, reply: Reply, translate: Translate, read: { after?: number; signal: AbortSignal }) {
  const batches = "turn" in reply ? bridge.read(reply, read) : single(reply.chunks());
  for await (const batch of withKeepAlive(batches)) {
    let text = "";
    if (batch === "idle") text = sseComment("keep-alive");
    else for (const { chunk, sequence } of batch) for (const translated of await translate(chunk)) text += encodeSseEvent(translated, sequence);
    if (text) yield text;
  }
  yield sseDone;
}

async function* single(chunks: AsyncGenerator<UIMessageChunk>): AsyncGenerator<{ chunk: UIMessageChunk; sequence?: number }[]> {
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
