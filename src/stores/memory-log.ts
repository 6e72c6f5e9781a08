import { copyJson, toJsonCopy } from "./json-copy.ts";
import { logListeners } from "./log-listeners.ts";
import { toLogged } from "./logged-entry.ts";
import type { LogEntry, LogStore, MessageStore, StoredMessage, Withdrawal } from "./store.ts";

interface MemoryLog extends LogStore, MessageStore {
  /** Removes everything of a chat. */
  forget(chat: string): void;
  clearListeners(): void;
}

interface OpenTurn {
  chat: string;
  turn: string;
  sequence: number;
}

/** The logs and messages of the store in memory. */
export function memoryLog({
  now,
  requireChat,
  withdraw,
}: {
  now: () => number;
  requireChat: (id: string) => void;
  /** Changes the history and the rows of a chat, or throws and changes nothing. */
  withdraw: (chat: string, withdrawal: Withdrawal) => void;
}): MemoryLog {
  const logs = new Map<string, LogEntry[]>();
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
      if (withdrawal) withdraw(chat, withdrawal);
      const at = now();
      const log = logs.get(chat) ?? [];
      logs.set(chat, log);
      const first = log.length + 1;
      const added = entries.map((entry, index): LogEntry => ({
        ...toJsonCopy(toLogged(entry)),
        sequence: first + index,
        at,
      }));
      for (const entry of added) log.push(entry);
      for (const [index, entry] of entries.entries()) {
        const sequence = first + index;
        const turnKey = JSON.stringify([chat, entry.turn]);
        if (entry.kind === "begin") {
          if (!turns.has(turnKey)) turns.set(turnKey, { chat, turn: entry.turn, sequence });
          if (entry.message) save(chat, entry.message, sequence, at);
        } else if (entry.kind === "withdraw") {
          messages.set(
            chat,
            messagesOf(chat).filter((message) => message.sequence < entry.from),
          );
        } else if (entry.kind === "end") {
          if (entry.message) save(chat, entry.message, (turns.get(turnKey)?.sequence ?? sequence) + 1, at);
          turns.delete(turnKey);
        }
      }
      const stored = copyJson(added);
      if (stored.length > 0) listeners.notify(chat, stored);
      return stored;
    },

    async read(chat, { after = 0, limit = Infinity } = {}) {
      const start = Math.max(0, after);
      return (logs.get(chat) ?? []).slice(start, start + limit).map(copyJson);
    },

    async lastSequence(chat) {
      return logs.get(chat)?.length ?? 0;
    },

    watch: listeners.watch,

    async openTurns() {
      return copyJson([...turns.values()]);
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
      logs.delete(chat);
      messages.delete(chat);
    },

    clearListeners() {
      listeners.clear();
    },
  };
}
