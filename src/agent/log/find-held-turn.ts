import type { UIMessageChunk } from "ai";
import type { LogEntry, Store } from "../../stores/index.ts";
import { isPause } from "./read-held.ts";
import { isLastChunk, type LoggedTurn } from "./read-turn.ts";

/** Where a turn is in the log, and how it ended. */
type FoundTurn = Pick<LoggedTurn, "id" | "reply" | "after"> & {
  /** `cut`: it has no last chunk, so another turn makes its reply again. `open`: it has no end yet. */
  end: "open" | "cut" | "paused" | "over";
};

const piece = 256;
/** Entries that are read at once. A long reply has more, and a reader may ask for its end again and again. */
const largestPiece = 4096;

/** The turn that an entry of the log belongs to; undefined if the log no longer has its beginning. */
export async function findTurnAt(store: Store, chat: string, sequence: number): Promise<FoundTurn | undefined> {
  const [entry] = await store.read(chat, { after: sequence - 1, limit: 1 });
  if (entry?.sequence !== sequence) return undefined;
  const begin = await findBegin(store, chat, entry);
  if (begin?.kind !== "begin") return undefined;
  const { turn: id, reply } = begin;
  const after = begin.sequence - 1;
  let last: UIMessageChunk | undefined;
  for (let cursor = after; ;) {
    const entries = await store.read(chat, { after: cursor, limit: piece });
    for (const next of entries) {
      if (next.turn !== id) continue;
      if (next.kind === "chunk") last = next.chunk;
      if (next.kind === "end") return { id, reply, after, end: endOf(last) };
    }
    const end = entries.at(-1);
    if (!end) return { id, reply, after, end: "open" };
    cursor = end.sequence;
  }
}

/** The turn at the end of the log, if its message waits for an answer or a result. */
export async function findPausedTurn(store: Store, chat: string): Promise<FoundTurn | undefined> {
  const sequence = await store.lastSequence(chat);
  const turn = sequence > 0 ? await findTurnAt(store, chat, sequence) : undefined;
  return turn?.end === "paused" ? turn : undefined;
}

async function findBegin(store: Store, chat: string, entry: LogEntry): Promise<LogEntry | undefined> {
  const isBegin = ({ turn, kind }: LogEntry) => turn === entry.turn && kind === "begin";
  for (let end = entry.sequence, size = piece; end > 0; size = Math.min(size * 4, largestPiece)) {
    const after = Math.max(0, end - size);
    const begin = (await store.read(chat, { after, limit: end - after })).find(isBegin);
    if (begin) return begin;
    end = after;
  }
  return undefined;
}

function endOf(last: UIMessageChunk | undefined): FoundTurn["end"] {
  if (!last || !isLastChunk(last)) return "cut";
  return isPause(last) ? "paused" : "over";
}
