import type { ApprovalCard, ApprovalState, EffectClass } from "../protocol/index.ts";
import type { AuditEntry, ChatStore } from "./chat-store.ts";
import type { FileStore } from "./file-store.ts";
import type { LogStore, MessageStore } from "./log-store.ts";
import type { LeaseStore } from "./lease-store.ts";
import type { CallLimits, ChatLimits } from "./store-limits.ts";

export type * from "./chat-store.ts";
export type * from "./file-store.ts";
export type * from "./lease-store.ts";
export type * from "./log-store.ts";

/**
 * The data that must survive the process: sessions with their events, the log of chunks, the messages it adds up to, the
 * files of both, the approvals, and the audit of every change to them. `test/contracts/store.ts` says what each implementation must do.
 *
 * Times are milliseconds by the store's own clock (`now`), so that one clock decides what has expired.
 */
export interface Store extends SessionStore, LogStore, MessageStore, FileStore, ApprovalStore, ChatStore, LeaseStore {
  /** The only clock that decides about expiry and leases. */
  now(): number;
  /** Resolves if the store can be used now. Cheap; rejects, or does not resolve, while the database cannot be reached. */
  check(): Promise<void>;
  close(): Promise<void>;
}

/** Sessions and their ADK events. */
export interface SessionStore {
  /**
   * Returns the chat `(appName, owner, name)`; creates it when it is new. Throws `too_many` when the owner has as many chats
   * as it may have, and `unavailable` when the store has. Both count the chats of all apps.
   */
  openChat(chat: { owner: string; name: string; appName: string }, limits?: ChatLimits): Promise<Session>;
  findChat(owner: string, name: string, appName: string): Promise<Session | undefined>;
  /**
   * Opens a session inside a chat (an agent run as a tool); returns the existing one when the chat has a session with this
   * id. Throws `not_found` for an unknown chat and `conflict` when the id belongs to another chat.
   */
  openSession(session: { id: string; chat: string; appName: string; state?: JsonObject }): Promise<Session>;
  getSession(id: string): Promise<Session | undefined>;
  /**
   * Removes a session with everything that belongs to it; for a chat, also its inner sessions, and its watchers are
   * called. The audit of an inner session stays, because it is part of the chat's audit. Of a chat's audit only the hashes
   * stay (`auditHashes`).
   */
  deleteSession(id: string): Promise<void>;
  /** Events in append order, without the withdrawn ones; those after a position, if `after` is given. */
  events(sessionId: string, range?: { after?: number }): Promise<StoredEvent[]>;
  /**
   * Appends one event and merges `stateDelta` into the session's state, in one transaction. An event with an id that
   * exists already replaces that event in place. Throws `not_found` without the session, and {@link AlreadyResponded} when
   * another event of this session has answered one of `responses`.
   */
  appendEvent(sessionId: string, event: NewEvent): Promise<StoredEvent>;
  /** Withdraws the events from `position` on; their calls may be answered again. State they merged stays merged. */
  withdrawEvents(sessionId: string, position: number): Promise<void>;
}

/** The approvals and their audit. */
export interface ApprovalStore {
  /**
   * Inserts a row, or returns the existing row of the same call. Throws `too_many` or `unavailable` past one of the limits,
   * `not_found` when the owner has no such session in the chat, `conflict` when another call has the id.
   */
  createApproval(approval: NewApproval, limits?: CallLimits): Promise<Approval>;
  getApproval(id: string): Promise<Approval | undefined>;
  /** Oldest first. */
  listApprovals(filter: ApprovalFilter): Promise<Approval[]>;
  /**
   * One compare-and-set along `transition`. A pending row past `expiresAt` and an approved one past `startBy` expire
   * instead, and a waiting one past `reportBy` becomes indeterminate instead, whatever the change is.
   */
  move(id: string, change: Change): Promise<Moved>;
  /** Extends the lease of the attempt that holds `fence`; false when the row has moved on. */
  renewLease(id: string, fence: number, leaseMs: number): Promise<boolean>;
  /**
   * Marks that the outcome is in the model's history. True for the first caller only, and only for a settled row. With
   * `as`, only while the row has the state that the model was told: a person may find out meanwhile what became of it.
   */
  markTold(id: string, as?: ApprovalState): Promise<boolean>;
  /** Marks that the chat's log shows the outcome. True for the first caller only, and only for a settled row. */
  markShown(id: string): Promise<boolean>;
  /**
   * Rows that need work: pending past `expiresAt`, approved past `startBy`, approved calls that have not started, executing
   * with a lapsed lease, waiting past `reportBy`, and settled rows that neither the log shows nor the model has been told
   * about. Only rows of chats that no other node has. Oldest first, one batch at a time; a batch after a row that is gone
   * is empty.
   */
  dueApprovals(batch?: DueBatch): Promise<Approval[]>;
  /** How many calls without an outcome there are, of all chats and nodes. For metrics: asked every few seconds at most. */
  countOpenCalls(): Promise<Record<OpenState, number>>;
  /** Every change of a chat's approvals in order, each entry hashed over the one before. */
  audit(chat: string): Promise<AuditEntry[]>;
}

/** The state of a row without an outcome. */
export type OpenState = Extract<ApprovalState, "pending" | "approved" | "executing" | "waiting">;

/** An object that JSON can hold. */
export type JsonObject = Record<string, unknown>;

/** A chat is a session with `chat === id` and a name that its owner knows it by. */
export interface Session {
  id: string;
  /** The chat this session belongs to; its own id for the chat itself. */
  chat: string;
  owner: string;
  /** The client's chat id; absent for inner sessions. */
  name?: string;
  /** What people call the chat; absent until it has one. */
  title?: string;
  /** The app that the chat belongs to; of an inner session, the name of its agent. */
  appName: string;
  state: JsonObject;
  /** Rises when events that were there are replaced or withdrawn. Until then a reader need only read the later ones. */
  revision: number;
  createdAt: number;
  updatedAt: number;
}

/** An ADK event to append to a session. */
export interface NewEvent {
  id: string;
  /** The ADK event as JSON. */
  event: JsonObject;
  /** Ids of the calls this event answers. */
  responses: readonly string[];
  stateDelta?: JsonObject;
}

/** An ADK event as the store has it. */
export interface StoredEvent {
  position: number;
  event: JsonObject;
  /** The length of its JSON in characters. */
  size: number;
}

/** A held call, before it has a row. */
export interface NewApproval {
  /** 128 random bits. */
  id: string;
  chat: string;
  session: string;
  owner: string;
  toolCallId: string;
  toolName: string;
  /** Canonical JSON of what the model sent, if the tool's schema changed it. */
  rawInput?: string;
  /** Canonical JSON of the arguments: what was shown and what runs. */
  input: string;
  digest: string;
  /** The assistant message that shows the call. If its reply is made again and the call is kept, the new message. */
  messageId: string;
  /** The agent that made the call, and its branch. */
  agent: string;
  branch?: string;
  /**
   * How the model that made the call was talked to: one request at a time, or over a live connection. A call made by an
   * agent that runs as a tool has the mode of the call that agent works for.
   */
  mode: "request" | "live";
  /** The actor whose message the call comes from. */
  requestedBy?: string;
  /** A hash of the tool's declaration. A tool that has changed since does not run. */
  toolHash?: string;
  hint?: string;
  /** What the card says about the call beside its arguments. */
  card?: ApprovalCard;
  payload?: unknown;
  /** True when the result comes from outside (a browser tool, a long-running tool, an agent run as a tool). */
  external: boolean;
  effect: EffectClass;
  /** True when a person is asked; false for calls that only wait for a result from outside. */
  gated: boolean;
  /** Calls that no one is asked about start as `approved`, or as `waiting` when they have begun. */
  state: Extract<ApprovalState, "pending" | "approved" | "waiting">;
  /** How long a person may take to decide. */
  ttlMs: number;
  /** How long after its approval the call may start. */
  startMs: number;
  /** How long after its beginning the result of a call may be reported. Only calls with this can wait for a report. */
  reportMs?: number;
  /** For a call that starts as `waiting`: what its tool said when it had begun. */
  interim?: JsonObject;
  /** Set for an agent run as a tool: the inner session whose calls it waits for. */
  innerSession?: string;
  /** The key that the tool was given, if it ran before it had a row. Default: the row's id. */
  idempotencyKey?: string;
}

/** The row of a held call, from the question to the outcome. Only `move` and the marks change it. */
export interface Approval extends Omit<NewApproval, "state" | "ttlMs"> {
  /** The app of the chat. The store sets it; it never changes. */
  appName: string;
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
  /** Rises with every claim; a write with an older fence is refused. */
  fence: number;
  leaseOwner?: string;
  leaseUntil?: number;
  /** Until when the result of a waiting call may be reported. */
  reportBy?: number;
  outcome?: JsonObject;
  stateDelta?: JsonObject;
  /** What else the tool asked ADK to do. */
  actions?: JsonObject;
  /** Who resolved a call whose outcome was not known. */
  resolvedBy?: string;
  finishedAt?: number;
  /** True once the outcome is in the model's history. */
  told: boolean;
  /** Set once the chat's log shows the outcome. The model may be told later, with the next message. */
  shown?: true;
}

/** Which rows to list. All fields that are given must fit. */
export interface ApprovalFilter {
  appName?: string;
  chat?: string;
  session?: string;
  owner?: string;
  state?: ApprovalState;
  idempotencyKey?: string;
  messageId?: string;
  innerSession?: string;
  /** False: only rows whose outcome the model has not been told, which includes those without one. */
  told?: boolean;
  /** Only rows whose id or call id is one of these. */
  about?: readonly string[];
  /** Only the rows that were created last, at most so many. */
  newest?: number;
}

/** Which rows that need work to return. */
export interface DueBatch {
  /** Only rows of this app. */
  appName?: string;
  /** The id of the last row of the batch before. */
  after?: string;
  /** How many rows at most. Default 200. */
  limit?: number;
  /** Leaves out settled rows, which only have to be shown. */
  unsettled?: boolean;
}

/** What happens to a row: the event that moves it, and what the event brings. */
export type Change =
  | { event: "approve" | "deny"; by: string; reason?: string; key?: string }
  | { event: "expire" }
  /** With `unlessApproved`, a call that a person has approved is left as it is. */
  | { event: "cancel"; reason?: string; unlessApproved?: boolean }
  | { event: "claim" | "reclaim"; leaseOwner: string; leaseMs: number }
  /** The attempt with this fence has begun; without a fence, a call that runs elsewhere begins. */
  | { event: "begin"; fence?: number; interim?: JsonObject; stateDelta?: JsonObject; actions?: JsonObject }
  /** With `fence`, the attempt reports; with `by`, a person resolves an indeterminate row; with neither, a waiting call is reported. */
  | {
      event: "succeed" | "fail";
      outcome: JsonObject;
      stateDelta?: JsonObject;
      actions?: JsonObject;
      fence?: number;
      by?: string;
      reason?: string;
    }
  /** With `fence`, the attempt gives up; without it, its lease or the time for a report must be over. */
  | { event: "lose"; fence?: number; outcome?: JsonObject };

/** What a call of `move` did. */
export interface Moved {
  /** True when the caller's own change was made; false also when the row expired instead. */
  moved: boolean;
  /** The event that this call added to the audit: the caller's, or `expire` or `lose` for one that came too late. */
  applied?: Change["event"];
  /** The row afterwards, changed or not, so that a caller who came second sees what won; undefined for an unknown id. */
  approval: Approval | undefined;
}

/** Another event of the session has answered this call already. */
export class AlreadyResponded extends Error {
  override readonly name = "AlreadyResponded";
  readonly callId: string;
  constructor(callId: string) {
    super(`Call ${callId} already has a response in this session.`);
    this.callId = callId;
  }
}
