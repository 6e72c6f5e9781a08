import type { UIMessageChunk } from "ai";
import { BridgeError } from "../protocol/index.ts";
import type { Store } from "../stores/index.ts";
import type { QueuedTurn } from "./chat-queue.ts";

export interface LoggedChunk {
  sequence: number;
  chunk: UIMessageChunk;
}

/**
 * The chunks of one turn as they come, from its beginning or behind `after`, until it ends or the reader goes away. Throws
 * when the turn was left without an end: a reply that looks finished would be taken for one.
 */
export async function* readTurn(
  store: Store,
  chat: string,
  turn: QueuedTurn,
  { after = turn.after, signal }: { after?: number; signal?: AbortSignal },
): AsyncGenerator<LoggedChunk[]> {
  let cursor = Math.max(after, turn.after);
  let wake = () => {};
  let left = false;
  const leave = () => {
    left = true;
    wake();
  };
  turn.done.then(leave, leave);
  const unwatch = store.watch(chat, () => wake());
  signal?.addEventListener("abort", () => wake(), { once: true });
  try {
    for (;;) {
      const woken = new Promise<void>((resolve) => (wake = resolve));
      const isLast = left;
      const entries = await store.read(chat, { after: cursor, limit: 256 });
      const chunks: LoggedChunk[] = [];
      let ended = false;
      for (const entry of entries) {
        cursor = entry.sequence;
        if (entry.turn !== turn.id) continue;
        if (entry.kind === "chunk") chunks.push({ sequence: entry.sequence, chunk: entry.chunk });
        ended ||= entry.kind === "end";
      }
      if (chunks.length > 0) yield chunks;
      if (ended) return;
      if (signal?.aborted) return;
      if (entries.length > 0) continue;
      if (isLast) throw new BridgeError("unavailable", "The server stopped in the middle of this reply.");
      await woken;
    }
  } finally {
    unwatch();
  }
}
