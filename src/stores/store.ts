import type { UIMessage, UIMessageChunk } from "ai";
import type { ApprovalState, EffectClass } from "../protocol/index.ts";

/**
 * What must survive a dead process: sessions with their events, the log of chunks, the approvals, and the audit of every
 * change to them. One interface; `test/contracts/store.ts` says what each implementation must do.
 *
 * Times are milliseconds by the store's own clock (`now`), so one clock decides what has expired.
 */
export interface Store {
  /** The only clock that decides about expiry and leases. */
  now(): number;

  // ── sessions and their ADK events ──────────────────────────────────────────────────────────────────────────────
  /** The chat `(owner, name)`, made when it is new. */
  openChat(chat: { owner: string; name: string; appName: string }): Promise<Session>;
  findChat(owner: string, name: string): Promise<Session | undefined>;
  /**
   * A session inside a chat (an agent run as a tool); returns the existing one when the id is taken. Throws `not_found`
   * for an unknown chat and `conflict` when the id belongs to another chat.
   */
  openSession(session: { id: string; chat: string; appName: string; state?: JsonObject }): Promise<Session>;
  getSession(id: string): Promise<Session | undefined>;
  /**
   * Removes a chat's session with everything that hangs on it. Of an inner session the audit stays, because it is the
   * chat's.
   */
  deleteSession(id: string): Promise<void>;
  /** Events in append order, without the withdrawn ones. */
  events(sessionId: string): Promise<StoredEvent[]>;
  /**
   * Appends one event and merges `stateDelta` into the session's state, in one transaction. An event with an id that is
   * already there replaces it in place. Throws `not_found` without the session, and {@link AlreadyAnswered} when one of
   * `responses` (call ids this event answers) has been answered by another event of this session.
   */
  appendEvent(sessionId: string, event: NewEvent): Promise<StoredEvent>;
  /** Withdraws the events from `position` on; their calls may be answered again. State they merged stays merged. */
  withdrawEvents(sessionId: string, position: number): Promise<void>;

  // ── the log ────────────────────────────────────────────────────────────────────────────────────────────────────
  /**
   * Appends entries of one chat with consecutive sequence numbers (from 1), in one transaction. Throws `not_found` when
   * there is no such chat, so that a turn cannot outlive it.
   */
  append(chat: string, entries: readonly NewLogEntry[]): Promise<LogEntry[]>;
  /** Entries with `after < sequence`, in order. */
  read(chat: string, range?: { after?: number; limit?: number }): Promise<LogEntry[]>;
  /** The last sequence number of a chat, 0 when its log is empty. */
  lastSequence(chat: string): Promise<number>;
  /** Calls back after each append by this process; a hint, the log is the truth. Returns the way to stop. */
  watch(chat: string, listener: (entries: readonly LogEntry[]) => void): () => void;
  /** Turns with a `begin` and no `end`, oldest first. */
  openTurns(): Promise<{ chat: string; turn: string; sequence: number }[]>;

  // ── approvals ──────────────────────────────────────────────────────────────────────────────────────────────────
  /**
   * Inserts a row, or returns the one that stands for the same call. Throws `too_many` past `maxPending` of its chat,
   * `not_found` when that owner has no such session in that chat, `conflict` when the id stands for another call.
   */
  createApproval(approval: NewApproval, limits?: { maxPending?: number }): Promise<Approval>;
  getApproval(id: string): Promise<Approval | undefined>;
  /** Oldest first. */
  listApprovals(filter: ApprovalFilter): Promise<Approval[]>;
  /**
   * One compare-and-set along `transition`. A pending row past `expiresAt` and an approved one past `startBy` expire
   * instead, whatever the change is.
   */
  move(id: string, change: Change): Promise<Moved>;
  /** Extends the lease of the attempt that holds `fence`; false when the row has moved on. */
  renewLease(id: string, fence: number, leaseMs: number): Promise<boolean>;
  /** Marks that the outcome reached the model's history; true for the first caller only, and only once it is settled. */
  markTold(id: string): Promise<boolean>;
  /**
   * Rows that need somebody: pending past `expiresAt`, approved past `startBy`, approved server tools nobody claimed,
   * executing with a lapsed lease, settled ones that were never told.
   */
  dueApprovals(): Promise<Approval[]>;

  /** Every change of a chat's approvals in order, each entry hashed over the one before. */
  audit(chat: string): Promise<AuditEntry[]>;

  close(): Promise<void>;
}

export type JsonObject = Record<string, unknown>;

/** A chat is a session without a parent: `chat === id` and a name its owner knows it by. */
export interface Session {
  id: string;
  /** The chat this session belongs to; its own id for the chat itself. */
  chat: string;
  owner: string;
  /** The client's chat id; absent for inner sessions. */
  name?: string;
  appName: string;
  state: JsonObject;
  createdAt: number;
  updatedAt: number;
}

export interface NewEvent {
  id: string;
  /** The ADK event as JSON. */
  event: JsonObject;
  /** Ids of the calls this event answers. */
  responses: readonly string[];
  stateDelta?: JsonObject;
}
export interface StoredEvent {
  position: number;
  event: JsonObject;
}

/**
 * `begin` opens a turn: the user's message if there is one, and the id of the assistant message the turn writes to.
 * `withdraw` takes back the chunks and messages from `from` on (an interrupted step that runs again, a regenerated reply).
 */
export type NewLogEntry = { turn: string } & (
  | { kind: "begin"; reply: string; message?: UIMessage }
  | { kind: "chunk"; chunk: UIMessageChunk }
  | { kind: "withdraw"; from: number }
  | { kind: "end" }
);
export type LogEntry = NewLogEntry & { sequence: number; at: number };

export interface NewApproval {
  /** 128 random bits. */
  id: string;
  chat: string;
  session: string;
  owner: string;
  toolCallId: string;
  toolName: string;
  /** Canonical JSON of the arguments: what was shown and what runs. */
  input: string;
  digest: string;
  /** The assistant message that shows the call. */
  messageId: string;
  /** The agent that made the call, and its branch. */
  agent: string;
  branch?: string;
  /**
   * How the model that made the call was talked to: one request at a time, or over a live connection. A call made by an
   * agent that runs as a tool has the mode of the call that agent works for.
   */
  mode: "request" | "live";
  hint?: string;
  payload?: unknown;
  /** True where the answer comes from outside (a browser tool, a long-running tool, an agent run as a tool). */
  external: boolean;
  effect: EffectClass;
  /** True where a person is asked; false for calls that only wait for an answer from outside. */
  gated: boolean;
  /** Ungated external calls start as `approved`. */
  state: Extract<ApprovalState, "pending" | "approved">;
  ttlMs: number;
  /** How long after approval the call may start (external ones: be answered). */
  startMs: number;
  /** Set for an agent run as a tool: the inner session whose calls it waits for. */
  innerSession?: string;
}

export interface Approval extends Omit<NewApproval, "state" | "ttlMs"> {
  state: ApprovalState;
  createdAt: number;
  expiresAt: number;
  startBy?: number;
  decidedAt?: number;
  decidedBy?: string;
  decisionKey?: string;
  reason?: string;
  /** The same for every attempt. */
  idempotencyKey: string;
  /** Rises with every claim; a write with an older one never lands. */
  fence: number;
  leaseOwner?: string;
  leaseUntil?: number;
  outcome?: JsonObject;
  stateDelta?: JsonObject;
  finishedAt?: number;
  told: boolean;
}

export interface ApprovalFilter {
  chat?: string;
  session?: string;
  owner?: string;
  state?: ApprovalState;
}

export type Change =
  | { event: "approve" | "deny"; by: string; reason?: string; key?: string }
  | { event: "expire" }
  | { event: "cancel"; reason?: string }
  | { event: "claim" | "reclaim"; leaseOwner: string; leaseMs: number }
  | { event: "succeed" | "fail"; outcome: JsonObject; stateDelta?: JsonObject; fence?: number }
  | { event: "lose" };

/** What a call of `move` did. */
export interface Moved {
  /** True when the caller's own change was made; false also when the row expired instead. */
  moved: boolean;
  /** The event that this call added to the audit: the caller's, or `expire` for one that came too late. */
  applied?: Change["event"];
  /** The row afterwards, changed or not, so that a caller who came second sees what won; undefined for an unknown id. */
  approval: Approval | undefined;
}

export interface AuditEntry {
  sequence: number;
  at: number;
  approvalId: string;
  event: "create" | Change["event"];
  state: ApprovalState;
  by?: string;
  digest: string;
  /** SHA-256 over the previous hash and this entry's canonical JSON. */
  hash: string;
}

/** Another event of the session answers this call already: another instance goes on. */
export class AlreadyAnswered extends Error {
  override readonly name = "AlreadyAnswered";
  readonly callId: string;
  constructor(callId: string) {
    super(`Call ${callId} already has a response in this session.`);
    this.callId = callId;
  }
}
