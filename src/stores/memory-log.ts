import { copyJson, toJsonCopy } from "./json-copy.ts";
import { logListeners } from "./log-listeners.ts";
import { notOpen, toLogged } from "./logged-entry.ts";
import type { LogEntry, LogStore, MessageStore, StoredMessage, Withdrawal } from "./store.ts";

export interface MemoryLog extends LogStore, MessageStore {
  /** Removes everything of a chat, and tells its watchers. */
  forget(chat: string): void;
  hasOpenTurn(chat: string): boolean;
  /** Removes chunks of turns that have ended, see `ChatStore.trimChunks`. */
  trim(range: { before: number; limit: number; mayTrim: (chat: string) => boolean }): number;
  clearListeners(): void;
}

interface OpenTurn {
  chat: string;
  turn: string;
  sequence: number;
}

interface MemoryLogOptions {
  now: () => number;
  requireChat: (id: string) => void;
  appOf: (chat: string) => string | undefined;
  /** A turn of the chat has begun or ended. */
  noteChange: (chat: string, at: number) => void;
  /** Changes the history and the rows of a chat, or throws and changes nothing. */
  withdraw: (chat: string, withdrawal: Withdrawal) => void;
}

/** The chunks that say how a turn ended. */
const lastChunks: ReadonlySet<string> = new Set(["finish", "error", "abort"]);

/** The logs and messages of the store in memory. */
export function memoryLog({ now, requireChat, appOf, noteChange, withdraw }: MemoryLogOptions): MemoryLog {
  const logs = new Map<string, LogEntry[]>();
  /** Turns that have ended and have all their chunks, in the order of their ends. */
  const ended: (OpenTurn & { last: number; at: number })[] = [];
  const messages = new Map<string, StoredMessage[]>();
  const turns = new Map<string, OpenTurn>();
  const listeners = logListeners();
  const messagesOf = (chat: string) => messages.get(chat) ?? [];

  const save = (chat: string, message: StoredMessage["message"], sequence: number, at: number) => {
    const list = messagesOf(chat);
    messages.set(chat, list);
    const known = list.findIndex(({ message: { id } }) => id === message.id);
    const place = list[known]?.sequence ?? sequence;
    if (known >= 0) list.splice(known, 1);
    const next = list.findIndex((other) => other.sequence > place);
    const copy = toJsonCopy(message);
    const stored = { message: copy, sequence: place, at, size: JSON.stringify(copy).length };
    list.splice(next < 0 ? list.length : next, 0, stored);
  };

  return {
    async append(chat, entries, withdrawal) {
      requireChat(chat);
      const keyOf = (turn: string) => JSON.stringify([chat, turn]);
      const open = new Set(turns.keys());
      for (const { kind, turn } of entries)
        if (kind === "begin") open.add(keyOf(turn));
        else if (kind === "end" && !open.delete(keyOf(turn))) throw notOpen(turn);
      if (withdrawal) withdraw(chat, withdrawal);
      const at = now();
      const log = logs.get(chat) ?? [];
      logs.set(chat, log);
      const first = (log.at(-1)?.sequence ?? 0) + 1;
      const added = entries.map((entry, index): LogEntry => ({
        ...toJsonCopy(toLogged(entry)),
        sequence: first + index,
        at,
      }));
      for (const entry of added) log.push(entry);
      for (const [index, entry] of entries.entries()) {
        const sequence = first + index;
        const turnKey = keyOf(entry.turn);
        if (entry.kind === "begin" || entry.kind === "end") noteChange(chat, at);
        if (entry.kind === "begin") {
          if (!turns.has(turnKey)) turns.set(turnKey, { chat, turn: entry.turn, sequence });
          if (entry.message) save(chat, entry.message, sequence, at);
        } else if (entry.kind === "withdraw") {
          messages.set(
            chat,
            messagesOf(chat).filter((message) => message.sequence < entry.from),
          );
        } else if (entry.kind === "end") {
          const begun = turns.get(turnKey);
          if (entry.message) save(chat, entry.message, (begun?.sequence ?? sequence) + 1, at);
          if (begun) ended.push({ ...begun, last: sequence, at });
          turns.delete(turnKey);
        }
      }
      const stored = copyJson(added);
      if (stored.length > 0) listeners.notify(chat, { entries: stored });
      return stored;
    },

    async read(chat, { after = 0, limit = Infinity } = {}) {
      const log = logs.get(chat) ?? [];
      const start = firstAfter(log, after);
      return log.slice(start, start + limit).map(copyJson);
    },

    async lastSequence(chat) {
      return logs.get(chat)?.at(-1)?.sequence ?? 0;
    },

    watch: listeners.watch,

    async openTurns({ chat, appName } = {}) {
      const isWanted = (turn: OpenTurn) =>
        (chat === undefined || turn.chat === chat) && (appName === undefined || appOf(turn.chat) === appName);
      return copyJson([...turns.values()].filter(isWanted));
    },

    async messages(chat, { before, limit = Infinity } = {}) {
      const list = messagesOf(chat);
      const end = before === undefined ? list.length : list.findIndex(({ message: { id } }) => id === before);
      return list.slice(Math.max(0, end - limit), Math.max(0, end)).map(copyJson);
    },

    async getMessage(chat, id) {
      const found = messagesOf(chat).find(({ message }) => message.id === id);
      return found && copyJson(found);
    },

    async lastMessage(chat, role) {
      const found = messagesOf(chat).findLast(({ message }) => message.role === role);
      return found && copyJson(found);
    },

    forget(chat) {
      for (const [key, turn] of turns) if (turn.chat === chat) turns.delete(key);
      for (const turn of ended.filter((each) => each.chat === chat)) ended.splice(ended.indexOf(turn), 1);
      logs.delete(chat);
      messages.delete(chat);
      listeners.notify(chat, { isDeleted: true });
    },

    hasOpenTurn(chat) {
      return [...turns.values()].some((turn) => turn.chat === chat);
    },

    trim({ before, limit, mayTrim }) {
      const due = ended.filter(({ chat, at }) => at < before && mayTrim(chat)).slice(0, limit);
      for (const turn of due) {
        ended.splice(ended.indexOf(turn), 1);
        const isTrimmed = (entry: LogEntry) =>
          entry.kind === "chunk" && entry.turn === turn.turn && !lastChunks.has(entry.chunk.type);
        const log = logs.get(turn.chat) ?? [];
        const isInside = ({ sequence }: LogEntry) => sequence > turn.sequence && sequence < turn.last;
        logs.set(
          turn.chat,
          log.filter((entry) => !(isInside(entry) && isTrimmed(entry))),
        );
      }
      return due.length;
    },

    clearListeners() {
      listeners.clear();
    },
  };
}

/** The index of the first entry after a sequence number. Numbers rise, and some are missing. */
function firstAfter(log: readonly LogEntry[], sequence: number): number {
  let low = 0;
  let high = log.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((log[middle]?.sequence ?? 0) > sequence) high = middle;
    else low = middle + 1;
  }
  return low;
}
