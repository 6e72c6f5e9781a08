import { randomBytes } from "node:crypto";
import { mkdirSync, realpathSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { BridgeError, isSettled } from "../protocol/index.ts";
import { applyChange, exactText, newApprovalRow, refusePast, renewedLease } from "./apply-change.ts";
import { nextAuditEntry } from "./audit-chain.ts";
import { createPrivateFile, lockFile } from "./file-lock.ts";
import { logListeners } from "./log-listeners.ts";
import {
  approvalToParameters,
  insertApproval,
  parse,
  rowToApproval,
  rowToAuditEntry,
  rowToSession,
  textToLogEntry,
  updateApproval,
  type Row,
} from "./sqlite-rows.ts";
import { migrate, refuseNewerSchema } from "./sqlite-schema.ts";
import {
  AlreadyAnswered,
  type Approval,
  type AuditEntry,
  type NewLogEntry,
  type Session,
  type Store,
} from "./store.ts";

export interface SqliteStoreOptions {
  /** The database file; it and its folder are made when missing. `<path>.lock` beside it keeps other processes out. */
  path: string;
  /** Milliseconds; the store's only clock. */
  now?: () => number;
  /** Ids of new chats: 128 random bits unless given. */
  newId?: () => string;
}

/**
 * A store in one SQLite file, for one process at a time; a second one is refused at once. What was acknowledged survives
 * the process. What was decided, what came of it and the session's events also survive a power cut; of the chunks of a
 * turn that has not ended, a power cut may take the last ones.
 *
 * Each method does all of its work before its first await, in one transaction.
 */
export function sqliteStore(options: SqliteStoreOptions): Store {
  const clock = options.now ?? Date.now;
  const now = () => Math.floor(clock());
  const newId = options.newId ?? (() => randomBytes(16).toString("hex"));
  const listeners = logListeners();
  const { db, unlock } = openDatabase(options.path, now());
  let open = true;

  const statements = new Map<string, StatementSync>();
  const sql = (text: string): StatementSync => {
    const statement = statements.get(text) ?? db.prepare(text);
    statements.set(text, statement);
    return statement;
  };
  const one = (text: string, ...values: SQLInputValue[]): Row | undefined => sql(text).get(...values);
  const all = (text: string, ...values: SQLInputValue[]): Row[] => sql(text).all(...values);
  const run = (text: string, ...values: SQLInputValue[]): number => Number(sql(text).run(...values).changes);

  // Chunks need no sync of their own, everything else does. One connection that switches between transactions (SQLite
  // ignores the pragma inside one) is simpler than two and needs no care about the order of their writes: they share
  // one write-ahead log, so whatever is synced takes the chunks before it along.
  let level: "NORMAL" | "FULL" | undefined;
  const setSync = (sync: "NORMAL" | "FULL") => {
    if (level !== sync) db.exec(`PRAGMA synchronous = ${sync}`);
    level = sync;
  };
  const transaction = <T>(sync: "NORMAL" | "FULL", work: () => T): T => {
    setSync(sync);
    sql("BEGIN IMMEDIATE").run();
    try {
      const result = work();
      sql("COMMIT").run();
      return result;
    } catch (error) {
      rollBack(db);
      throw error;
    }
  };

  const getSession = (id: string) => rowToSession(one("SELECT * FROM session WHERE id = ?", id));
  const getChat = (owner: string, name: string) =>
    rowToSession(one("SELECT * FROM session WHERE owner = ? AND name = ?", owner, name));
  const requireChat = (id: string): Session => {
    const chat = getSession(id);
    if (chat?.chat !== id) throw new BridgeError("not_found", `There is no chat ${id}.`);
    return chat;
  };
  const addSession = ({ id, chat, owner, name, appName, state, createdAt, updatedAt }: Session): Session => {
    run(
      "INSERT INTO session (id, chat, owner, name, appName, state, createdAt, updatedAt) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      ...[id, chat, owner, name ?? null, appName, JSON.stringify(state), createdAt, updatedAt],
    );
    return getSession(id) as Session;
  };

  // The last sequence numbers of chats that are being written to; only this process writes, so they hold.
  const lastSequences = new Map<string, number>();
  const readLastSequence = (chat: string): number =>
    Number(one("SELECT max(sequence) AS last FROM log WHERE chat = ?", chat)?.["last"] ?? 0);

  const openTurn = "INSERT INTO openTurn (chat, turn, sequence) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";

  const getApproval = (id: string) => rowToApproval(one("SELECT * FROM approval WHERE id = ?", id));
  const saveApproval = (row: Approval, before: Approval) => {
    const saved = sql(updateApproval).run({
      ...approvalToParameters(row, "moves"),
      id: before.id,
      oldState: before.state,
      oldFence: before.fence,
    });
    if (Number(saved.changes) !== 1) throw new BridgeError("conflict", `Approval ${before.id} moved meanwhile.`);
  };
  const addAudit = (approval: Approval, event: AuditEntry["event"], by: string | undefined, at: number) => {
    const previous = one("SELECT * FROM audit WHERE chat = ? ORDER BY sequence DESC LIMIT 1", approval.chat);
    const { chat, id: approvalId, state, digest } = approval;
    const entry = nextAuditEntry(rowToAuditEntry(previous), { at, approvalId, event, state, by, digest });
    run(
      "INSERT INTO audit (chat, sequence, at, approvalId, event, state, by, digest, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
      ...[chat, entry.sequence, at, approvalId, event, state, by ?? null, digest, entry.hash],
    );
  };

  return {
    now,

    async openChat({ owner, name, appName }) {
      for (const [field, text] of Object.entries({ owner, name, appName })) exactText(text, field);
      const found = getChat(owner, name);
      if (found) return found;
      const id = newId();
      const at = now();
      return transaction("FULL", () =>
        addSession({ id, chat: id, owner, name, appName, state: {}, createdAt: at, updatedAt: at }),
      );
    },

    async findChat(owner, name) {
      return getChat(owner, name);
    },

    async openSession({ id, chat, appName, state = {} }) {
      for (const [field, text] of Object.entries({ id, appName })) exactText(text, field);
      const { owner } = requireChat(chat);
      const taken = getSession(id);
      if (taken && taken.chat !== chat) {
        throw new BridgeError("conflict", `Session ${id} belongs to another chat than ${chat}.`);
      }
      if (taken) return taken;
      const at = now();
      return transaction("FULL", () => addSession({ id, chat, owner, appName, state, createdAt: at, updatedAt: at }));
    },

    async getSession(id) {
      return getSession(id);
    },

    async deleteSession(id) {
      lastSequences.delete(id);
      transaction("FULL", () => run("DELETE FROM session WHERE id = ?", id));
    },

    async events(sessionId) {
      const rows = all(
        "SELECT position, event FROM event WHERE session = ? AND withdrawn = 0 ORDER BY position",
        sessionId,
      );
      return rows.map((row) => ({ position: Number(row["position"]), event: parse(row["event"]) }));
    },

    async appendEvent(sessionId, { id, event, responses, stateDelta }) {
      for (const text of [id, ...responses]) exactText(text, "An event's id and its calls' ids");
      const text = JSON.stringify(event);
      // As JSON first: a field that is undefined is no field, and must not remove the one that is there.
      const delta = JSON.stringify(stateDelta ?? {});
      return transaction("FULL", () => {
        const session = getSession(sessionId);
        if (!session) throw new BridgeError("not_found", `There is no session ${sessionId}.`);
        const there = one("SELECT position FROM event WHERE session = ? AND id = ? AND withdrawn = 0", sessionId, id);
        const last = one("SELECT max(position) AS last FROM event WHERE session = ?", sessionId);
        const position = Number(there?.["position"] ?? Number(last?.["last"] ?? 0) + 1);
        if (there) {
          run("UPDATE event SET event = ? WHERE session = ? AND position = ?", text, sessionId, position);
          run("DELETE FROM response WHERE session = ? AND position = ?", sessionId, position);
        } else {
          run("INSERT INTO event (session, position, id, event) VALUES (?, ?, ?, ?)", sessionId, position, id, text);
        }
        for (const callId of new Set(responses)) {
          const taken = "INSERT INTO response (session, callId, position) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
          if (run(taken, sessionId, callId, position) === 0) throw new AlreadyAnswered(callId);
        }
        const state = JSON.stringify({ ...session.state, ...parse(delta) });
        run("UPDATE session SET state = ?, updatedAt = ? WHERE id = ?", state, now(), sessionId);
        return { position, event: parse(text) };
      });
    },

    async withdrawEvents(sessionId, position) {
      transaction("FULL", () => {
        run("UPDATE event SET withdrawn = 1 WHERE session = ? AND position >= ?", sessionId, position);
        run("DELETE FROM response WHERE session = ? AND position >= ?", sessionId, position);
      });
    },

    async append(chat, entries) {
      const known = lastSequences.get(chat);
      if (known === undefined) requireChat(chat);
      const last = known ?? readLastSequence(chat);
      const at = now();
      const texts = entries.map((entry) => JSON.stringify(entry));
      const insert = sql("INSERT INTO log (chat, sequence, at, entry) VALUES (?, ?, ?, ?)");
      lastSequences.delete(chat);
      if (texts.length === 1 && entries[0]?.kind === "chunk") {
        // By far the most frequent write: one statement is a transaction by itself.
        setSync("NORMAL");
        insert.run(chat, last + 1, at, texts[0] as string);
      } else {
        // The user's words and the end of a turn are synced, and with its end all of a turn's chunks.
        const isNews = (entry: NewLogEntry) =>
          entry.kind === "begin" ? entry.message !== undefined : entry.kind !== "chunk";
        transaction(entries.some(isNews) ? "FULL" : "NORMAL", () => {
          for (const [index, { kind, turn }] of entries.entries()) {
            const sequence = last + index + 1;
            insert.run(chat, sequence, at, texts[index] as string);
            if (kind === "begin") run(openTurn, chat, turn, sequence);
            if (kind === "end") run("DELETE FROM openTurn WHERE chat = ? AND turn = ?", chat, turn);
          }
        });
      }
      // Forgotten at the end of a turn, so that the map holds the chats being written to and not every chat there is.
      if (entries.at(-1)?.kind !== "end") lastSequences.set(chat, last + entries.length);
      const stored = texts.map((text, index) => textToLogEntry(text, last + index + 1, at));
      if (stored.length > 0) listeners.notify(chat, stored);
      return stored;
    },

    async read(chat, { after = 0, limit = Infinity } = {}) {
      const rows = all(
        "SELECT sequence, at, entry FROM log WHERE chat = ? AND sequence > ? ORDER BY sequence LIMIT ?",
        ...[chat, after, limit === Infinity ? -1 : limit],
      );
      return rows.map((row) => textToLogEntry(String(row["entry"]), Number(row["sequence"]), Number(row["at"])));
    },

    async lastSequence(chat) {
      return lastSequences.get(chat) ?? readLastSequence(chat);
    },

    watch: listeners.watch,

    async openTurns() {
      const rows = all("SELECT chat, turn, sequence FROM openTurn ORDER BY opened");
      return rows.map((row) => ({ ...row }) as { chat: string; turn: string; sequence: number });
    },

    async createApproval(approval, limits = {}) {
      return transaction("FULL", () => {
        const { id, session, toolCallId } = approval;
        const there = one("SELECT * FROM approval WHERE session = ? AND toolCallId = ?", session, toolCallId);
        if (there) return rowToApproval(there) as Approval;
        const { chat, owner } = getSession(session) ?? {};
        if (chat !== approval.chat || owner !== approval.owner) {
          throw new BridgeError("not_found", `There is no session ${session} in chat ${approval.chat}.`);
        }
        if (getApproval(id)) throw new BridgeError("conflict", `Approval ${id} stands for another call.`);
        const { maxPending } = limits;
        if (maxPending !== undefined && approval.state === "pending") {
          const pending = one("SELECT count(*) AS n FROM approval WHERE chat = ? AND state = 'pending'", chat);
          refusePast(maxPending, Number(pending?.["n"]));
        }
        const at = now();
        const row = newApprovalRow(approval, at);
        sql(insertApproval).run(approvalToParameters(row));
        addAudit(row, "create", undefined, at);
        return getApproval(id) as Approval;
      });
    },

    async getApproval(id) {
      return getApproval(id);
    },

    async listApprovals(filter) {
      const fields = (["chat", "session", "owner", "state"] as const).filter((field) => filter[field] !== undefined);
      const where = fields.map((field) => `${field} = ?`).join(" AND ") || "TRUE";
      const rows = all(
        `SELECT * FROM approval WHERE ${where} ORDER BY created`,
        ...fields.map((field) => filter[field] as string),
      );
      return rows.map((row) => rowToApproval(row) as Approval);
    },

    async move(id, change) {
      return transaction("FULL", () => {
        const row = getApproval(id);
        if (!row) return { moved: false, approval: undefined };
        const at = now();
        const applied = applyChange(row, change, at);
        if (!applied) return { moved: false, approval: row };
        saveApproval(applied.approval, row);
        addAudit(applied.approval, applied.event, applied.by, at);
        return { moved: applied.moved, applied: applied.event, approval: getApproval(id) };
      });
    },

    async renewLease(id, fence, leaseMs) {
      // Not worth a sync: the next process lapses every lease anyway.
      return transaction("NORMAL", () => {
        const row = getApproval(id);
        const renewed = row && renewedLease(row, fence, leaseMs, now());
        if (renewed) saveApproval(renewed, row);
        return renewed !== undefined;
      });
    },

    async markTold(id) {
      return transaction("FULL", () => {
        const row = getApproval(id);
        if (!row || row.told || !isSettled(row.state)) return false;
        saveApproval({ ...row, told: true }, row);
        return true;
      });
    },

    async dueApprovals() {
      const due = "SELECT * FROM approval INDEXED BY approval_due WHERE dueAt <= ? ORDER BY created";
      return all(due, now()).map((row) => rowToApproval(row) as Approval);
    },

    async audit(chat) {
      const rows = all("SELECT * FROM audit WHERE chat = ? ORDER BY sequence", chat);
      return rows.map((row) => rowToAuditEntry(row) as AuditEntry);
    },

    async close() {
      if (!open) return;
      open = false;
      listeners.clear();
      statements.clear();
      db.close();
      unlock();
    },
  };
}

function openDatabase(path: string, now: number): { db: DatabaseSync; unlock: () => void } {
  mkdirSync(dirname(path), { recursive: true });
  createPrivateFile(path);
  // By its real name: two links to one database are one lock. SQLite gives the files beside it the same mode.
  const file = realpathSync(path);
  const unlock = lockFile(`${file}.lock`, `The database ${path}`);
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(file);
    refuseNewerSchema(db, path);
    // A shell or a backup may hold the file for a moment. On macOS only `fullfsync` reaches the disk.
    db.exec("PRAGMA busy_timeout = 2000; PRAGMA journal_mode = WAL; PRAGMA fullfsync = 1; PRAGMA synchronous = FULL");
    db.exec("BEGIN IMMEDIATE");
    migrate(db);
    // The lock says that whoever was executing is dead, so nobody needs to wait for a lease to run out.
    db.prepare("UPDATE approval SET leaseUntil = ?1, dueAt = ?1 WHERE state = 'executing' AND leaseUntil > ?1").run(
      now,
    );
    db.exec("COMMIT");
    return { db, unlock };
  } catch (error) {
    db?.close();
    unlock();
    throw error;
  }
}

/** Some failures have rolled the transaction back already; the error that counts is the one before. */
function rollBack(db: DatabaseSync): void {
  try {
    db.exec("ROLLBACK");
  } catch {
    // Nothing is open any more, which is what was wanted.
  }
}
