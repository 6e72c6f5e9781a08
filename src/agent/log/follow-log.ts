import type { LogEntry, Store } from "../../stores/index.ts";
import { isMeasured, metrics } from "../support/index.ts";
import { chatDeleted } from "./chat-deleted.ts";

/** How many entries are read at once, and how many that the watch brought may wait for a slow reader. */
const batchSize = 256;

/**
 * Entries of a chat's log after `after`, in order, as they are written. Ends when the signal aborts, or when `until` has
 * settled and the log has been read to its end once more. Throws when the chat is deleted. The store's watch is a hint; the
 * log is the truth: entries that the watch brings are used only if they directly follow what was read.
 */
export async function* followLog(
  store: Store,
  chat: string,
  { after, until, signal }: { after: number; until?: Promise<unknown>; signal?: AbortSignal },
): AsyncGenerator<LogEntry[]> {
  let cursor = after;
  let wake = () => {};
  let over = false;
  const end = () => {
    over = true;
    wake();
  };
  until?.then(end, end);
  const onAbort = () => wake();
  signal?.addEventListener("abort", onAbort, { once: true });
  let isDeleted = false;
  /** Entries that the watch brought since the log was read; undefined when the log has to be read. */
  let brought: LogEntry[] | undefined;
  const unwatch = store.watch(chat, ({ entries, isDeleted: isGone }) => {
    isDeleted ||= isGone === true;
    brought = entries && brought && brought.length + entries.length <= batchSize ? [...brought, ...entries] : undefined;
    wake();
  });
  let isFirst = true;
  let hasWaited = false;
  try {
    for (;;) {
      const woken = new Promise<void>((resolve) => (wake = resolve));
      const isLast = over;
      const known = isLast ? undefined : followers(brought, cursor);
      // Emptied before the log is read: what is appended meanwhile is in one of them, or in both.
      brought = [];
      const entries = known ?? (await store.read(chat, { after: cursor, limit: batchSize }));
      if (!known && entries.length === batchSize) brought = undefined;
      const last = entries.at(-1);
      if (last) {
        cursor = last.sequence;
        // A reader that catches up reads old entries, which says nothing about the way to a reader that waits.
        if (hasWaited && isMeasured()) metrics.log.lag.record(Math.max(0, store.now() - last.at));
        hasWaited = false;
        yield entries;
      }
      if (signal?.aborted) return;
      if (entries.length > 0) continue;
      // Before the first wait the chat is looked for: it may have been deleted before the watch began.
      isDeleted ||= isFirst && !(await store.getSession(chat));
      isFirst = false;
      if (isDeleted) throw chatDeleted;
      if (isLast) return;
      await woken;
      hasWaited = true;
    }
  } finally {
    unwatch();
    signal?.removeEventListener("abort", onAbort);
  }
}

/** The entries after a sequence number; undefined if one is missing. */
function followers(entries: readonly LogEntry[] | undefined, after: number): LogEntry[] | undefined {
  const later = entries?.filter(({ sequence }) => sequence > after);
  return later?.every(({ sequence }, index) => sequence === after + index + 1) ? later : undefined;
}

/** The log from its end backwards, in growing pieces: what callers look for is mostly near the end. */
export async function* readBackwards(store: Store, chat: string): AsyncGenerator<LogEntry[]> {
  let end = await store.lastSequence(chat);
  for (let size = 256; end > 0; size *= 4) {
    const after = Math.max(0, end - size);
    yield await store.read(chat, { after, limit: end - after });
    end = after;
  }
}

/** When the user last wrote a message in the chat. */
export async function lastMessageAt(store: Store, chat: string): Promise<number | undefined> {
  return (await store.lastMessage(chat, "user"))?.at;
}

/** The id of the assistant message that the last turn writes to. */
export async function lastReply(store: Store, chat: string): Promise<string | undefined> {
  for await (const entries of readBackwards(store, chat)) {
    const begin = entries.findLast(({ kind }) => kind === "begin");
    if (begin?.kind === "begin") return begin.reply;
  }
  return undefined;
}
