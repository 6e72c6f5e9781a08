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
    async listChats({ owner, appName }, { after, limit = Infinity } = {}) {
      const isOwn = (chat: Session) => chat.owner === owner && chat.appName === appName;
      const own = chats().filter((chat) => isOwn(chat) && (!after || isEarlier(chat, after)));
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

    async unchangedChats({ appName, before, limit }) {
      const isOver = (chat: Session) =>
        isOf(chat, appName) &&
        chat.updatedAt < before &&
        !log.hasOpenTurn(chat.id) &&
        select({ chat: chat.id }).every(({ state }) => isSettled(state));
      const old = chats()
        .filter(isOver)
        .toSorted((one, other) => one.updatedAt - other.updatedAt);
      return copyJson(old.slice(0, limit));
    },

    async trimChunks({ appName, before, limit }) {
      const mayTrim = (chat: string) =>
        isOf(sessions.get(chat), appName) &&
        select({ chat }).every((row) => !isSettled(row.state) || dueAt(row) === undefined);
      return log.trim({ before, limit, mayTrim });
    },

    async auditHashes(chat) {
      return copyJson([...(hashes.get(chat) ?? [])]);
    },
  };
}

/** True for a session of the app, or of any if none is named. */
function isOf(session: Session | undefined, appName: string | undefined): boolean {
  return appName === undefined || session?.appName === appName;
}

function isEarlier(chat: ChatPlace, other: ChatPlace): boolean {
  return chat.updatedAt < other.updatedAt || (chat.updatedAt === other.updatedAt && chat.id < other.id);
}
