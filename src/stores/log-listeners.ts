import type { LogListener, LogNews } from "./store.ts";

/** The listeners to the logs of a store: the part of `LogStore.watch` that needs no database. */
interface LogListeners {
  watch(chat: string, listener: LogListener): () => void;
  /** Call after the change is committed. */
  notify(chat: string, news: LogNews): void;
  clear(): void;
}

/** Creates the listeners of one store. */
export function logListeners(): LogListeners {
  const listeners = new Map<string, Set<{ listener: LogListener }>>();
  const waiting: { chat: string; news: LogNews }[] = [];
  let notifying = false;

  return {
    watch(chat, listener) {
      // Wrapped, so that a function that watches twice is two watchers, and each can be stopped by itself.
      const watcher = { listener };
      const watchers = listeners.get(chat) ?? new Set();
      listeners.set(chat, watchers.add(watcher));
      return () => {
        watchers.delete(watcher);
        if (watchers.size === 0 && listeners.get(chat) === watchers) listeners.delete(chat);
      };
    },

    notify(chat, news) {
      if (!listeners.has(chat)) return;
      waiting.push({ chat, news });
      // A listener that appends calls this again; its entries wait until every listener has got the ones before.
      if (notifying) return;
      notifying = true;
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        const watchers = listeners.get(next.chat) ?? new Set();
        for (const watcher of [...watchers]) {
          if (!watchers.has(watcher)) continue;
          try {
            watcher.listener(next.news);
          } catch {
            // The entries are committed: an error of one reader must not affect the append or other readers.
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
