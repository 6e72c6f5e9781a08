import { randomBytes } from "node:crypto";
import { type ApprovalState, BridgeError, isSettled } from "../protocol/index.ts";
import { applyChange, dueBatch, exactText, newApprovalRow, renewedLease } from "./apply-change.ts";
import { nextAuditEntry } from "./audit-chain.ts";
import { copyJson, toJsonCopy } from "./json-copy.ts";
import { memoryChats } from "./memory-chats.ts";
import { memoryEvents } from "./memory-events.ts";
import { memoryFiles } from "./memory-files.ts";
import { matches } from "./approval-matches.ts";
import { memoryLog } from "./memory-log.ts";
import { oneNode } from "./one-node.ts";
import { OpenCallCounts } from "./open-call-counts.ts";
import { refuseCallPast, refuseChatPast } from "./refuse-past.ts";
import {
  type Approval,
  type ApprovalFilter,
  type AuditEntry,
  type AuditHash,
  type Session,
  type Store,
  type Withdrawal,
} from "./store.ts";

/** What tests may set of a `memoryStore`. */
export interface MemoryStoreOptions {
  /** The store's only clock, in milliseconds. Default `Date.now`. */
  now?: () => number;
  /** Makes the ids of new chats. Default: 128 random bits. */
  newId?: () => string;
}

/**
 * A store that lives as long as its process: for tests and for trying things out. Values are copied on the way in and
 * out, as with a database, so a caller cannot change the stored data by changing its own objects.
 *
 * Each method does all of its work before its first await, which is what makes it one transaction.
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  const clock = options.now ?? Date.now;
  const now = () => Math.floor(clock());
  const newId = options.newId ?? (() => randomBytes(16).toString("hex"));

  const sessions = new Map<string, Session>();
  const chats = new Map<string, string>();
  const history = memoryEvents({ now, sessions });
  const approvals = new Map<string, Approval>();
  /** The ids of each chat's approvals, oldest first. */
  const asked = new Map<string, Set<string>>();
  const calls = new Map<string, string>();
  /** The rows of calls with the same id, which is unique in a session only. */
  const sameCall = new Map<string, Set<string>>();
  const open = new OpenCallCounts();
  /** How many chats each owner has. */
  const owners = new Map<string, number>();
  const audits = new Map<string, AuditEntry[]>();
  /** In which order the rows were created. */
  const positions = new Map<string, number>();
  /** What is left of the audits of deleted chats. */
  const hashes = new Map<string, AuditHash[]>();
  let created = 0;

  const requireChat = (id: string): Session => {
    const chat = sessions.get(id);
    if (chat?.chat !== id) throw new BridgeError("not_found", `There is no chat ${id}.`);
    return chat;
  };

  const appOf = (chat: string) => sessions.get(chat)?.appName;

  const noteChange = (id: string, at: number) => {
    const chat = sessions.get(id);
    if (chat) sessions.set(id, { ...chat, updatedAt: at });
  };

  const { forget, hasOpenTurn, trim, clearListeners, ...log } = memoryLog({
    ...{ now, requireChat, noteChange, appOf },
    withdraw: (chat, withdrawal) => withdraw(chat, withdrawal),
  });
  const { forget: forgetFiles, ...files } = memoryFiles({
    ...{ now, requireChat, appOf, ownerOf: (chat) => sessions.get(chat)?.owner },
  });

  const addSession = (session: Omit<Session, "revision">): Session => {
    const added = { ...toJsonCopy(session), revision: 0 };
    sessions.set(session.id, added);
    history.open(session.id);
    return copyJson(added);
  };

  /** The rows that match a filter. Looks only at the rows of one chat, or those it is about, if the filter names them. */
  const select = (filter: ApprovalFilter): Approval[] => {
    const chat = filter.chat ?? (filter.session === undefined ? undefined : sessions.get(filter.session)?.chat);
    const isNarrow = filter.chat !== undefined || filter.session !== undefined;
    const about = () => filter.about && new Set(filter.about.flatMap((id) => [id, ...(sameCall.get(id) ?? [])]));
    const place = (id: string) => positions.get(id) ?? 0;
    const named = () => [...(about() ?? [])].filter((id) => approvals.has(id)).toSorted((a, b) => place(a) - place(b));
    const ids = isNarrow ? (asked.get(chat ?? "") ?? []) : filter.about ? named() : approvals.keys();
    return [...ids].map((id) => approvals.get(id) as Approval).filter((row) => matches(row, filter));
  };

  const addAudit = (approval: Approval, event: AuditEntry["event"], by: string | undefined, at: number) => {
    const chain = audits.get(approval.chat) ?? [];
    const { id: approvalId, state, digest } = approval;
    chain.push(toJsonCopy(nextAuditEntry(chain.at(-1), { at, approvalId, event, state, by, digest })));
    audits.set(approval.chat, chain);
    noteChange(approval.chat, at);
  };

  const mark = (id: string, field: "told" | "shown", as?: ApprovalState): boolean => {
    const row = approvals.get(id);
    if (!row || row[field] || !isSettled(row.state) || (as && row.state !== as)) return false;
    approvals.set(id, { ...row, [field]: true });
    return true;
  };

  const withdraw = (chat: string, { events, put, closed, moved }: Withdrawal) => {
    history.replace(chat, events, put);
    for (const id of closed) for (const field of ["told", "shown"] as const) mark(id, field);
    for (const id of moved.rows) {
      const row = approvals.get(id);
      if (row?.chat === chat) approvals.set(id, { ...row, messageId: moved.messageId });
    }
  };

  const removeSession = (id: string) => {
    for (const approval of select({ session: id })) {
      approvals.delete(approval.id);
      open.change(approval, undefined);
      positions.delete(approval.id);
      asked.get(approval.chat)?.delete(approval.id);
      calls.delete(key(approval.session, approval.toolCallId));
      const same = sameCall.get(approval.toolCallId);
      if (same?.delete(approval.id) && same.size === 0) sameCall.delete(approval.toolCallId);
    }
    sessions.delete(id);
    history.forget(id);
  };

  return {
    now,

    async openChat({ owner, name, appName }, limits = {}) {
      for (const [field, text] of Object.entries({ owner, name, appName })) exactText(text, field);
      const found = sessions.get(chats.get(key(appName, owner, name)) ?? "");
      if (found) return copyJson(found);
      refuseChatPast(limits, { ofOwner: () => owners.get(owner) ?? 0, inAll: () => chats.size });
      owners.set(owner, (owners.get(owner) ?? 0) + 1);
      const id = newId();
      const at = now();
      chats.set(key(appName, owner, name), id);
      return addSession({ id, chat: id, owner, name, appName, state: {}, createdAt: at, updatedAt: at });
    },

    async findChat(owner, name, appName) {
      const found = sessions.get(chats.get(key(appName, owner, name)) ?? "");
      return found && copyJson(found);
    },

    async openSession({ id, chat, appName, state = {} }) {
      for (const [field, text] of Object.entries({ id, appName })) exactText(text, field);
      const { owner } = requireChat(chat);
      const taken = sessions.get(id);
      if (taken && taken.chat !== chat) {
        throw new BridgeError("conflict", `Session ${id} belongs to another chat than ${chat}.`);
      }
      if (taken) return copyJson(taken);
      const at = now();
      return addSession({ id, chat, owner, appName, state, createdAt: at, updatedAt: at });
    },

    async getSession(id) {
      const session = sessions.get(id);
      return session && copyJson(session);
    },

    async deleteSession(id) {
      const session = sessions.get(id);
      if (!session) return;
      if (session.chat !== id) return removeSession(id);
      for (const { id: inner, chat } of sessions.values()) if (chat === id) removeSession(inner);
      chats.delete(key(session.appName, session.owner, session.name ?? ""));
      owners.set(session.owner, (owners.get(session.owner) ?? 1) - 1);
      const audit = audits.get(id) ?? [];
      if (audit.length > 0)
        hashes.set(
          id,
          audit.map(({ sequence, hash }) => ({ sequence, hash })),
        );
      forget(id);
      forgetFiles(id);
      audits.delete(id);
      asked.delete(id);
    },

    async events(sessionId, { after = 0 } = {}) {
      return history.read(sessionId, after);
    },

    async appendEvent(sessionId, event) {
      return history.put(sessionId, event);
    },

    async withdrawEvents(sessionId, position) {
      history.withdraw(sessionId, position);
    },

    ...log,
    ...files,
    ...memoryChats({ sessions, putEvent: history.put, select, positions, hashes, log: { ...log, hasOpenTurn, trim } }),

    async createApproval(approval, limits = {}) {
      const callKey = key(approval.session, approval.toolCallId);
      const existing = approvals.get(calls.get(callKey) ?? "");
      if (existing) return copyJson(existing);
      const { chat, owner } = sessions.get(approval.session) ?? {};
      if (chat !== approval.chat || owner !== approval.owner) {
        throw new BridgeError("not_found", `There is no session ${approval.session} in chat ${approval.chat}.`);
      }
      if (approvals.has(approval.id)) {
        throw new BridgeError("conflict", `Approval ${approval.id} belongs to another call.`);
      }
      refuseCallPast(approval, limits, open.counts(chat, owner));
      const at = now();
      const row = toJsonCopy(newApprovalRow({ ...approval, appName: requireChat(chat).appName }, at));
      approvals.set(row.id, row);
      open.change(undefined, row);
      positions.set(row.id, (created += 1));
      asked.set(row.chat, (asked.get(row.chat) ?? new Set()).add(row.id));
      calls.set(callKey, row.id);
      sameCall.set(row.toolCallId, (sameCall.get(row.toolCallId) ?? new Set()).add(row.id));
      addAudit(row, "create", row.requestedBy, at);
      return copyJson(row);
    },

    async getApproval(id) {
      const row = approvals.get(id);
      return row && copyJson(row);
    },

    async listApprovals(filter) {
      const rows = select(filter);
      return copyJson(rows.slice(Math.max(0, rows.length - (filter.newest ?? rows.length))));
    },

    async move(id, change) {
      const row = approvals.get(id);
      if (!row) return { moved: false, approval: undefined };
      const at = now();
      const applied = applyChange(row, change, at);
      if (!applied) return { moved: false, approval: copyJson(row) };
      const approval = toJsonCopy(applied.approval);
      approvals.set(id, approval);
      open.change(row, approval);
      addAudit(approval, applied.event, applied.by, at);
      return { moved: applied.moved, applied: applied.event, approval: copyJson(approval) };
    },

    async renewLease(id, fence, leaseMs) {
      const row = approvals.get(id);
      const renewed = row && renewedLease(row, fence, leaseMs, now());
      if (renewed) approvals.set(id, renewed);
      return renewed !== undefined;
    },

    async markTold(id, as) {
      return mark(id, "told", as);
    },

    async markShown(id) {
      return mark(id, "shown");
    },

    async dueApprovals(batch = {}) {
      return copyJson(dueBatch(approvals.values(), batch, now()));
    },

    async audit(chat) {
      return copyJson(audits.get(chat) ?? []);
    },

    ...oneNode(async (id) => sessions.get(id)?.chat === id),

    countOpenCalls: async () => open.byState,

    check: async () => undefined,

    async close() {
      clearListeners();
    },
  };
}

/** Several texts as one map key that no other texts share. */
function key(...texts: string[]): string {
  return JSON.stringify(texts);
}
