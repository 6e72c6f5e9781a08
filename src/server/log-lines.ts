import type { Store } from "../agent/index.ts";

/** The first line of a downloaded log. */
export interface LogHead {
  format: "adk-stream-protocol/log";
  version: 1;
  chat: string;
  savedAt: number;
}

const pageSize = 256;

/** A chat's log as JSON lines, read page by page, so that a long log holds neither the memory nor the event loop. */
export function logLines(
  store: Pick<Store, "read">,
  head: LogHead,
  { chat, after }: { /** The id of the chat's session. */ chat: string; after: number },
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let cursor = after;
  let isFirst = true;
  return new ReadableStream({
    async pull(controller) {
      if (isFirst) {
        isFirst = false;
        controller.enqueue(encoder.encode(`${JSON.stringify(head)}\n`));
        return;
      }
      const entries = await store.read(chat, { after: cursor, limit: pageSize });
      const last = entries.at(-1);
      if (!last) {
        controller.close();
        return;
      }
      cursor = last.sequence;
      controller.enqueue(encoder.encode(entries.map((entry) => `${JSON.stringify(entry)}\n`).join("")));
    },
  });
}
