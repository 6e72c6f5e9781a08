import type { LogEntry } from "./store.ts";

type Listener = (entries: readonly LogEntry[]) => void;

/** Who wants to hear of a chat's log in this process; the part of `Store.watch` that no database is needed for. */
interface LogListeners {
  watch(chat: string, listener: Listener): () => void;
  /** Call after the entries are committed. */
  notify(chat: string, entries: readonly LogEntry[]): void;
  clear(): void;
}

/** The watchers of one store. */
export function logListeners(): LogListeners {
  const listeners = new Map<string, Set<{ listener: Listener }>>();
  const waiting: { chat: string; entries: readonly LogEntry[] }[] = [];
  let notifying = false;

  return {
    watch(chat, listener) {
      // Wrapped, so that the same function watching twice is two watchers and each stops alone.
      const watcher = { listener };
      const watchers = listeners.get(chat) ?? new Set();
      listeners.set(chat, watchers.add(watcher));
      return () => {
        watchers.delete(watcher);
        if (watchers.size === 0 && listeners.get(chat) === watchers) listeners.delete(chat);
      };
    },

    notify(chat, entries) {
      if (!listeners.has(chat)) return;
      waiting.push({ chat, entries });
      // A listener that appends gets here again; its entries wait until everyone has heard the ones before.
      if (notifying) return;
      notifying = true;
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        const watchers = listeners.get(next.chat) ?? new Set();
        for (const watcher of [...watchers]) {
          if (!watchers.has(watcher)) continue;
          try {
            watcher.listener(next.entries);
          } catch {
            // The entries are committed and the log is the truth: one reader's failure is nobody else's.
          }
        }
      }
      notifying = false;
    },

    clear() {
      listeners.clear();
    },
  };
}
