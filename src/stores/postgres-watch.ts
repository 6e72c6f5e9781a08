import { logListeners } from "./log-listeners.ts";
import type { PostgresDatabase } from "./postgres-database.ts";
import type { LogEntry, LogListener } from "./store.ts";

/** The watchers of logs at this node, and what they have been told. */
export function postgresWatch(db: PostgresDatabase, onFirst: () => void) {
  const listeners = logListeners();
  /** How many watchers a chat has, and the last number that they know of; undefined if that is not known yet. */
  const watched = new Map<string, { count: number; seen: number | undefined; isDeleted: boolean }>();

  const grew = (chat: string, sequence: number) => {
    const known = watched.get(chat);
    if (!known || sequence <= (known.seen ?? 0)) {
      if (known) known.seen ??= sequence;
      return;
    }
    known.seen = sequence;
    listeners.notify(chat, {});
  };

  const gone = (chat: string) => {
    const known = watched.get(chat);
    if (known?.isDeleted) return;
    if (known) known.isDeleted = true;
    listeners.notify(chat, { isDeleted: true });
  };

  return {
    watch(chat: string, listener: LogListener): () => void {
      const stop = listeners.watch(chat, listener);
      const known = watched.get(chat) ?? { count: 0, seen: undefined, isDeleted: false };
      known.count += 1;
      watched.set(chat, known);
      onFirst();
      let isStopped = false;
      return () => {
        stop();
        if (isStopped) return;
        isStopped = true;
        known.count -= 1;
        if (known.count === 0 && watched.get(chat) === known) watched.delete(chat);
      };
    },

    /** This node has appended entries. */
    appended(chat: string, entries: LogEntry[]): void {
      const known = watched.get(chat);
      if (!known) return;
      known.seen = Math.max(known.seen ?? 0, entries.at(-1)?.sequence ?? 0);
      listeners.notify(chat, { entries });
    },

    /** The log of a chat goes to this number, says another node or the table. */
    grew,
    gone,

    /** Looks for entries, and deletions, that no signal came for. */
    async poll(): Promise<void> {
      const chats = [...watched].filter(([, { isDeleted }]) => !isDeleted).map(([chat]) => chat);
      if (chats.length === 0) return;
      const rows = await db.query("SELECT id, last_sequence FROM session WHERE id = ANY($1::text[]) AND NOT deleted", [
        chats,
      ]);
      const found = new Map(rows.map((row) => [String(row["id"]), Number(row["last_sequence"])]));
      for (const chat of chats) {
        const last = found.get(chat);
        if (last === undefined) gone(chat);
        else grew(chat, last);
      }
    },

    clear(): void {
      listeners.clear();
      watched.clear();
    },
  };
}
