import { isSettled } from "../protocol/index.ts";
import { dueAt } from "./apply-change.ts";
import { copyJson } from "./json-copy.ts";
import type { MemoryLog } from "./memory-log.ts";
import type {
  Approval,
  ApprovalFilter,
  AuditHash,
  ChatPlace,
  ChatStore,
  ListedChat,
  NewEvent,
  Session,
} from "./store.ts";

interface MemoryChatsOptions {
  sessions: Map<string, Session>;
  /** Throws without the session. */
  putEvent: (session: string, event: NewEvent) => void;
  select: (filter: ApprovalFilter) => Approval[];
  /** In which order the rows were created. */
  positions: ReadonlyMap<string, number>;
  log: Pick<MemoryLog, "messages" | "hasOpenTurn" | "trim">;
  /** The hashes of the audits of deleted chats. */
  hashes: ReadonlyMap<string, readonly AuditHash[]>;
}

/** The list of chats of the store in memory, pages of what chats have, and what is removed with time. */
export function memoryChats({ sessions, putEvent, select, positions, log, hashes }: MemoryChatsOptions): ChatStore {
  const chats = () => [...sessions.values()].filter(({ id, chat }) => id === chat);

  return {
    async listChats(owner, { after, limit = Infinity } = {}) {
      const own = chats().filter((chat) => chat.owner === owner && (!after || isEarlier(chat, after)));
      const page = own.toSorted((one, other) => (isEarlier(one, other) ? 1 : -1)).slice(0, limit);
      return page.map(({ state: _state, chat: _chat, revision: _revision, ...fields }): ListedChat => ({
        ...copyJson(fields),
        pending: select({ chat: fields.id, state: "pending" }).length,
      }));
    },

    async setTitle(id, title, was) {
      const chat = sessions.get(id);
      if (chat?.chat !== id || (was && chat.title !== was.title)) return false;
      sessions.set(id, { ...chat, title });
      return true;
    },

    async appendEvents(sessionId, events) {
      for (const event of events) putEvent(sessionId, { ...event, responses: [] });
    },

    async messagesAfter(chat, { after = 0, limit = Infinity } = {}) {
      return (await log.messages(chat)).filter(({ sequence }) => sequence > after).slice(0, limit);
    },

    async approvalPage(filter, { after = 0, limit, maxOutput }) {
      const rows = select(filter).map((row) => ({ row, position: positions.get(row.id) ?? 0 }));
      const page = rows.filter(({ position }) => position > after).slice(0, limit);
      return page.map(({ row, position }) => {
        const { outcome, ...rest } = row;
        const size = row.state === "succeeded" && outcome ? Buffer.byteLength(JSON.stringify(outcome)) : 0;
        if (size <= maxOutput) return { position, approval: copyJson(row) };
        return { position, approval: copyJson(rest), outputSize: size };
      });
    },

    async unchangedChats({ before, limit }) {
      const isOver = (chat: Session) =>
        chat.updatedAt < before &&
        !log.hasOpenTurn(chat.id) &&
        select({ chat: chat.id }).every(({ state }) => isSettled(state));
      const old = chats()
        .filter(isOver)
        .toSorted((one, other) => one.updatedAt - other.updatedAt);
      return copyJson(old.slice(0, limit));
    },

    async trimChunks({ before, limit }) {
      const isShown = (chat: string) =>
        select({ chat }).every((row) => !isSettled(row.state) || dueAt(row) === undefined);
      return log.trim({ before, limit, mayTrim: isShown });
    },

    async auditHashes(chat) {
      return copyJson([...(hashes.get(chat) ?? [])]);
    },
  };
}

function isEarlier(chat: ChatPlace, other: ChatPlace): boolean {
  return chat.updatedAt < other.updatedAt || (chat.updatedAt === other.updatedAt && chat.id < other.id);
}
