import type { UIMessageChunk } from "ai";
import type { Store } from "../../stores/index.ts";
import { followLog } from "./follow-log.ts";
import { isLastChunk, type LoggedChunk, type LoggedTurn, ReplyMoved, trimmedLog } from "./read-turn.ts";

/** True for the end of a turn whose message goes on: a call waits for an answer or for its result. */
export function isPause(chunk: UIMessageChunk | undefined): boolean {
  return chunk?.type === "finish" && chunk.finishReason === "tool-calls";
}

/**
 * The chunks of one message from a turn on: of this turn, and of the turns that continue the message after a pause. Ends
 * with the message, when another message comes, or when messages are withdrawn. Throws as `readTurn` does; chunks up to
 * `after` may be missing, because the reader has them.
 */
export async function* readHeld(
  store: Store,
  chat: string,
  turn: LoggedTurn,
  { after = turn.after, signal }: { after?: number; signal?: AbortSignal },
): AsyncGenerator<LoggedChunk[]> {
  let cursor = turn.after;
  let current: string | undefined;
  let hasBegun = false;
  let last: UIMessageChunk | undefined;
  // Only the first turn may be over without an entry in the log.
  for (const until of [turn.done, undefined]) {
    for await (const entries of followLog(store, chat, { after: cursor, until, signal })) {
      const chunks: LoggedChunk[] = [];
      let isOver = false;
      for (const entry of entries) {
        if (isOver) break;
        if (current !== undefined && entry.sequence > Math.max(cursor, after) + 1) throw trimmedLog();
        cursor = entry.sequence;
        if (!hasBegun && entry.turn !== turn.id) continue;
        switch (entry.kind) {
          case "begin":
            if (entry.reply === turn.reply) current = entry.turn;
            else isOver = true;
            hasBegun = true;
            last = undefined;
            break;
          case "chunk":
            if (entry.turn !== current) break;
            last = entry.chunk;
            chunks.push({ sequence: entry.sequence, chunk: entry.chunk });
            break;
          case "withdraw":
            isOver = entry.message !== undefined;
            break;
          case "end":
            if (entry.turn !== current) break;
            if (!last || !isLastChunk(last)) throw new ReplyMoved();
            current = undefined;
            isOver = !isPause(last);
            break;
        }
      }
      if (chunks.length > 0) yield chunks;
      if (isOver) return;
    }
    if (signal?.aborted) return;
    if (!hasBegun) throw new ReplyMoved();
  }
}
