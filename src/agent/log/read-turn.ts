import type { UIMessageChunk } from "ai";
import { BridgeError } from "../../protocol/index.ts";
import type { Store } from "../../stores/index.ts";
import { chatDeleted } from "./chat-deleted.ts";
import { followLog } from "./follow-log.ts";

/** A turn in the log, as its reader needs it. */
export interface LoggedTurn {
  id: string;
  /** The assistant message the turn writes to. */
  reply: string;
  /** The turn's entries come after this sequence number. */
  after: number;
  /** Settles when the turn is over. */
  done: Promise<void>;
}

export interface LoggedChunk {
  sequence: number;
  chunk: UIMessageChunk;
}

export interface ReadOptions {
  /** Leaves out chunks up to this sequence number. */
  after?: number;
  /**
   * Adds what other turns have written to the same message after this sequence number: a live model may have spoken while
   * this reader had no request open.
   */
  since?: number;
  signal?: AbortSignal;
}

/**
 * The reply goes on in another turn, or at another server, and what a reader has of it may have been withdrawn. A reader is
 * cut off, as if the connection had broken, and reads the reply again from its start.
 */
export class ReplyMoved extends BridgeError {
  constructor() {
    super("unavailable", "The server stopped in the middle of this reply.");
  }
}

/** For a reader that comes too late, or reads too slowly. */
export const trimmedLog = () =>
  new BridgeError("unavailable", "Part of this message is no longer in the log. Read the chat again.");

/**
 * The chunks of one turn as they are written, from its beginning or after `after`, until the turn ends or the reader leaves.
 * Throws when the turn has no end, or ends because another turn makes the reply again, because its reader would take the
 * reply for a finished one ({@link ReplyMoved}), and when chunks that the reader needs were removed (`ChatStore.trimChunks`).
 */
export async function* readTurn(
  store: Store,
  chat: string,
  turn: LoggedTurn,
  { after = turn.after, since, signal }: ReadOptions,
): AsyncGenerator<LoggedChunk[]> {
  const range = { after: since ?? Math.max(after, turn.after), until: turn.done, signal };
  const others = new Set<string>();
  const missed: LoggedChunk[] = [];
  let previous = range.after;
  // A reader that has seen a part may have seen the last chunk.
  let isComplete = after > turn.after;
  let isRead = since === undefined && after > turn.after;
  for await (const entries of followLog(store, chat, range)) {
    const chunks: LoggedChunk[] = [];
    let ended = false;
    for (const entry of entries) {
      // Only chunks of turns that are read here matter.
      if (entry.sequence > previous + 1 && (isRead || others.has(entry.turn))) throw trimmedLog();
      previous = entry.sequence;
      isRead ||= entry.turn === turn.id;
      if (entry.kind === "begin" && entry.reply === turn.reply && since !== undefined) others.add(entry.turn);
      if (entry.kind === "chunk") {
        const { sequence, chunk } = entry;
        if (entry.turn === turn.id) isComplete ||= isLastChunk(chunk);
        if (entry.turn === turn.id)
          chunks.push({ sequence, chunk }, ...(chunk.type === "start" ? missed.splice(0) : []));
        else if (others.has(entry.turn) && chunk.type !== "start" && chunk.type !== "finish")
          missed.push({ sequence, chunk });
      }
      ended ||= entry.kind === "end" && entry.turn === turn.id;
    }
    if (chunks.length > 0) yield chunks;
    if (ended && !isComplete) throw new ReplyMoved();
    if (ended) return;
  }
  // The entries of a deleted chat may have gone before this reader got to the end.
  if (!signal?.aborted && !(await store.getSession(chat))) throw chatDeleted;
  if (!signal?.aborted) throw new ReplyMoved();
}

/** True for the chunk that says how a turn ended. A turn that a crash cut off has none. */
export function isLastChunk({ type }: UIMessageChunk): boolean {
  return type === "finish" || type === "error" || type === "abort";
}
