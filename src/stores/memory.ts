import { randomBytes } from "node:crypto";
import { BridgeError, isSettled } from "../protocol/index.ts";
import { applyChange, dueBatch, exactText, newApprovalRow, renewedLease } from "./apply-change.ts";
import { nextAuditEntry } from "./audit-chain.ts";
import { copyJson, toJsonCopy } from "./json-copy.ts";
import { memoryFiles } from "./memory-files.ts";
import { memoryLog } from "./memory-log.ts";
import { OpenCallCounts } from "./open-call-counts.ts";
import { refuseCallPast, refuseChatPast } from "./refuse-past.ts";
import {
  AlreadyResponded,
  type Approval,
  type ApprovalFilter,
  type AuditEntry,
  type JsonObject,
  type Session,
  type Store,
  type StoredEvent,
} from "./store.ts";

export interface MemoryStoreOptions {
  /** Milliseconds; the store's only clock. */
  now?: () => number;
  /** Ids of new chats: 128 random bits unless given. */
  newId?: () => string;
}

interface EventRow {
  id: string;
  position: number;
  text: string;
  responses: ReadonlySet<string>;
  withdrawn: boolean;
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
  const events = new Map<string, EventRow[]>();
  const approvals = new Map<string, Approval>();
  /** The ids of each chat's approvals, oldest first. */
  const asked = new Map<string, Set<string>>();
  const calls = new Map<string, string>();
  const open = new OpenCallCounts();
  /** How many chats each owner has. */
  const owners = new Map<string, number>();
  const audits = new Map<string, AuditEntry[]>();

  const requireChat = (id: string): Session => {
    const chat = sessions.get(id);
    if (chat?.chat !== id) throw new BridgeError("not_found", `There is no chat ${id}.`);
    return chat;
  };

  const { forget, clearListeners, ...log } = memoryLog({ now, requireChat });
  const { forget: forgetFiles, ...files } = memoryFiles({
    ...{ now, requireChat, ownerOf: (chat) => sessions.get(chat)?.owner },
  });

  const addSession = (session: Omit<Session, "revision">): Session => {
    const added = { ...toJsonCopy(session), revision: 0 };
    sessions.set(session.id, added);
    events.set(session.id, []);
    return copyJson(added);
  };

  /** The rows that match a filter. Looks only at one chat's rows if the filter names a chat or a session. */
  const select = (filter: ApprovalFilter): Approval[] => {
    const chat = filter.chat ?? (filter.session === undefined ? undefined : sessions.get(filter.session)?.chat);
    const isNarrow = filter.chat !== undefined || filter.session !== undefined;
    const ids = isNarrow ? (asked.get(chat ?? "") ?? []) : approvals.keys();
    return [...ids].map((id) => approvals.get(id) as Approval).filter((row) => matches(row, filter));
  };

  const addAudit = (approval: Approval, event: AuditEntry["event"], by: string | undefined, at: number) => {
    const chain = audits.get(approval.chat) ?? [];
    const { id: approvalId, state, digest } = approval;
    chain.push(toJsonCopy(nextAuditEntry(chain.at(-1), { at, approvalId, event, state, by, digest })));
    audits.set(approval.chat, chain);
  };

  const mark = (id: string, field: "told" | "shown"): boolean => {
    const row = approvals.get(id);
    if (!row || row[field] || !isSettled(row.state)) return false;
    approvals.set(id, { ...row, [field]: true });
    return true;
  };

  const removeSession = (id: string) => {
    for (const approval of select({ session: id })) {
      approvals.delete(approval.id);
      open.change(approval, undefined);
      asked.get(approval.chat)?.delete(approval.id);
      calls.delete(key(approval.session, approval.toolCallId));
    }
    sessions.delete(id);
    events.delete(id);
  };

  return {
    now,

    async openChat({ owner, name, appName }, limits = {}) {
      for (const [field, text] of Object.entries({ owner, name, appName })) exactText(text, field);
      const found = sessions.get(chats.get(key(owner, name)) ?? "");
      if (found) return copyJson(found);
      refuseChatPast(limits, { ofOwner: () => owners.get(owner) ?? 0, inAll: () => chats.size });
      owners.set(owner, (owners.get(owner) ?? 0) + 1);
      const id = newId();
      const at = now();
      chats.set(key(owner, name), id);
      return addSession({ id, chat: id, owner, name, appName, state: {}, createdAt: at, updatedAt: at });
    },

    async findChat(owner, name) {
      const found = sessions.get(chats.get(key(owner, name)) ?? "");
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
      chats.delete(key(session.owner, session.name ?? ""));
      owners.set(session.owner, (owners.get(session.owner) ?? 1) - 1);
      forget(id);
      forgetFiles(id);
      audits.delete(id);
      asked.delete(id);
    },

    async events(sessionId, { after = 0 } = {}) {
      const rows = (events.get(sessionId) ?? []).slice(Math.max(0, after));
      return rows.filter((row) => !row.withdrawn).map(toStoredEvent);
    },

    async appendEvent(sessionId, { id, event, responses, stateDelta }) {
      const session = sessions.get(sessionId);
      const rows = events.get(sessionId);
      if (!session || !rows) throw new BridgeError("not_found", `There is no session ${sessionId}.`);
      for (const text of [id, ...responses]) exactText(text, "An event's id and its calls' ids");
      const standing = rows.filter((row) => !row.withdrawn);
      for (const callId of responses) {
        if (standing.some((row) => row.id !== id && row.responses.has(callId))) throw new AlreadyResponded(callId);
      }
      const text = JSON.stringify(event);
      const state = { ...session.state, ...(stateDelta && toJsonCopy(stateDelta)) };

      const existing = standing.find((row) => row.id === id);
      const position = existing?.position ?? rows.length + 1;
      const row = { id, position, text, responses: new Set(responses), withdrawn: false };
      rows[position - 1] = row;
      const revision = session.revision + (existing ? 1 : 0);
      sessions.set(sessionId, { ...session, state, revision, updatedAt: now() });
      return toStoredEvent(row);
    },

    async withdrawEvents(sessionId, position) {
      const session = sessions.get(sessionId);
      if (!session) return;
      for (const row of events.get(sessionId) ?? []) if (row.position >= position) row.withdrawn = true;
      sessions.set(sessionId, { ...session, revision: session.revision + 1 });
    },

    ...log,
    ...files,

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
      const row = toJsonCopy(newApprovalRow(approval, at));
      approvals.set(row.id, row);
      open.change(undefined, row);
      asked.set(row.chat, (asked.get(row.chat) ?? new Set()).add(row.id));
      calls.set(callKey, row.id);
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

    async markTold(id) {
      return mark(id, "told");
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

    async close() {
      clearListeners();
    },
  };
}

function toStoredEvent({ position, text }: EventRow): StoredEvent {
  return { position, event: JSON.parse(text) as JsonObject, size: text.length };
}

/** Several texts as one map key that no other texts share. */
function key(...texts: string[]): string {
  return JSON.stringify(texts);
}

function matches(row: Approval, filter: ApprovalFilter): boolean {
  if (filter.about && !filter.about.includes(row.id) && !filter.about.includes(row.toolCallId)) return false;
  return (["chat", "session", "owner", "state", "idempotencyKey", "messageId", "innerSession", "told"] as const).every(
    (field) => filter[field] === undefined || filter[field] === row[field],
  );
}
