import type { LogEntry, Store } from "../../stores/index.ts";
import { LogReader } from "./log-reader.ts";

/**
 * Entries of a chat's log after `after`, in order, as they are written. Ends when the signal aborts, or when `until` has
 * settled and the log has been read to its end once more. Throws when the chat is deleted.
 */
export async function* followLog(
  store: Store,
  chat: string,
  { after, until, signal }: { after: number; until?: Promise<unknown>; signal?: AbortSignal },
): AsyncGenerator<readonly LogEntry[]> {
  let wake = () => {};
  let over = false;
  const end = () => {
    over = true;
    wake();
  };
  until?.then(end, end);
  const onAbort = () => wake();
  signal?.addEventListener("abort", onAbort, { once: true });
  const log = new LogReader(store, chat, { after, onNews: () => wake() });
  try {
    for (;;) {
      const woken = new Promise<void>((resolve) => (wake = resolve));
      const isLast = over;
      const entries = await log.read({ fromStore: isLast });
      if (entries.length > 0) yield entries;
      if (signal?.aborted) return;
      if (entries.length > 0) continue;
      if (isLast) return;
      await woken;
    }
  } finally {
    log.close();
    signal?.removeEventListener("abort", onAbort);
  }
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
