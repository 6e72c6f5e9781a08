import { randomBytes } from "node:crypto";
import { BridgeError, isSettled } from "../protocol/index.ts";
import { applyChange, dueBatch, exactText, newApprovalRow, refusePast, renewedLease } from "./apply-change.ts";
import { nextAuditEntry } from "./audit-chain.ts";
import { copyJson, toJsonCopy } from "./json-copy.ts";
import { memoryLog } from "./memory-log.ts";
import {
  AlreadyResponded,
  type Approval,
  type ApprovalFilter,
  type AuditEntry,
  type NewEvent,
  type Session,
  type Store,
  type StoredEvent,
  type Withdrawal,
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
  const audits = new Map<string, AuditEntry[]>();

  const requireChat = (id: string): Session => {
    const chat = sessions.get(id);
    if (chat?.chat !== id) throw new BridgeError("not_found", `There is no chat ${id}.`);
    return chat;
  };

  const { forget, clearListeners, ...log } = memoryLog({
    now,
    requireChat,
    withdraw: (chat, withdrawal) => withdraw(chat, withdrawal),
  });

  const addSession = (session: Session): Session => {
    sessions.set(session.id, toJsonCopy(session));
    events.set(session.id, []);
    return toJsonCopy(session);
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

  const putEvent = (sessionId: string, { id, event, responses, stateDelta }: NewEvent): StoredEvent => {
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
    rows[position - 1] = { id, position, text, responses: new Set(responses), withdrawn: false };
    sessions.set(sessionId, { ...session, state, updatedAt: now() });
    return { position, event: JSON.parse(text) };
  };

  const withdraw = (chat: string, { events: positions, put, closed, moved }: Withdrawal) => {
    const before = events.get(chat) ?? [];
    const leaving = new Set(positions);
    events.set(
      chat,
      before.map((row) => (leaving.has(row.position) ? { ...row, withdrawn: true } : row)),
    );
    try {
      for (const event of put) putEvent(chat, event);
    } catch (error) {
      events.set(chat, before);
      throw error;
    }
    for (const id of closed) for (const field of ["told", "shown"] as const) mark(id, field);
    for (const id of moved.rows) {
      const row = approvals.get(id);
      if (row?.chat === chat) approvals.set(id, { ...row, messageId: moved.messageId });
    }
  };

  const removeSession = (id: string) => {
    for (const approval of select({ session: id })) {
      approvals.delete(approval.id);
      asked.get(approval.chat)?.delete(approval.id);
      calls.delete(key(approval.session, approval.toolCallId));
    }
    sessions.delete(id);
    events.delete(id);
  };

  return {
    now,

    async openChat({ owner, name, appName }) {
      for (const [field, text] of Object.entries({ owner, name, appName })) exactText(text, field);
      const found = sessions.get(chats.get(key(owner, name)) ?? "");
      if (found) return copyJson(found);
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
      forget(id);
      audits.delete(id);
      asked.delete(id);
    },

    async events(sessionId) {
      const rows = events.get(sessionId) ?? [];
      return rows.filter((row) => !row.withdrawn).map(({ position, text }) => ({ position, event: JSON.parse(text) }));
    },

    async appendEvent(sessionId, event) {
      return putEvent(sessionId, event);
    },

    async withdrawEvents(sessionId, position) {
      for (const row of events.get(sessionId) ?? []) if (row.position >= position) row.withdrawn = true;
    },

    ...log,

    async createApproval(approval, { maxPending } = {}) {
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
      if (maxPending !== undefined && approval.state === "pending") {
        refusePast(maxPending, select({ chat, state: "pending" }).length);
      }
      const at = now();
      const row = toJsonCopy(newApprovalRow(approval, at));
      approvals.set(row.id, row);
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

/** Several texts as one map key that no other texts share. */
function key(...texts: string[]): string {
  return JSON.stringify(texts);
}

function matches(row: Approval, filter: ApprovalFilter): boolean {
  if (filter.about && !filter.about.includes(row.id) && !filter.about.includes(row.toolCallId)) return false;
  return (["chat", "session", "owner", "state", "idempotencyKey", "messageId"] as const).every(
    (field) => filter[field] === undefined || filter[field] === row[field],
  );
}
