import type { UIMessageChunk } from "ai";
import { BridgeError } from "../protocol/index.ts";
import type { Store } from "../stores/index.ts";
import type { QueuedTurn } from "./chat-queue.ts";
import { followLog } from "./follow-log.ts";

export interface LoggedChunk {
  sequence: number;
  chunk: UIMessageChunk;
}

export interface ReadOptions {
  /** Leaves out what comes up to this sequence number. */
  after?: number;
  /**
   * Brings along what other turns have added to the same message behind this sequence number: a live model may have
   * spoken while no request of this reader was open.
   */
  since?: number;
  signal?: AbortSignal;
}

/**
 * The chunks of one turn as they come, from its beginning or behind `after`, until it ends or the reader goes away. Throws
 * when the turn was left without an end: a reply that looks finished would be taken for one.
 */
export async function* readTurn(
  store: Store,
  chat: string,
  turn: QueuedTurn,
  { after = turn.after, since, signal }: ReadOptions,
): AsyncGenerator<LoggedChunk[]> {
  const range = { after: since ?? Math.max(after, turn.after), until: turn.done, signal };
  const others = new Set<string>();
  const missed: LoggedChunk[] = [];
  for await (const entries of followLog(store, chat, range)) {
    const chunks: LoggedChunk[] = [];
    let ended = false;
    for (const entry of entries) {
      if (entry.kind === "begin" && entry.reply === turn.reply && since !== undefined) others.add(entry.turn);
      if (entry.kind === "chunk") {
        const { sequence, chunk } = entry;
        if (entry.turn === turn.id)
          chunks.push({ sequence, chunk }, ...(chunk.type === "start" ? missed.splice(0) : []));
        else if (others.has(entry.turn) && chunk.type !== "start" && chunk.type !== "finish")
          missed.push({ sequence, chunk });
      }
      ended ||= entry.kind === "end" && entry.turn === turn.id;
    }
    if (chunks.length > 0) yield chunks;
    if (ended) return;
  }
  if (!signal?.aborted) throw new BridgeError("unavailable", "The server stopped in the middle of this reply.");
}
