import type { ApprovalState } from "../protocol/index.ts";
import type { StoredMessage } from "./log-store.ts";
import type { Approval, ApprovalFilter, Change, JsonObject, Session } from "./store.ts";

/** The chats of an owner as a list, and what is removed with time. */
export interface ChatStore {
  /**
   * Chats of an owner in one app, the one that changed last first. A chat changes when a turn begins or ends, an event is appended,
   * or an approval changes. `after` is the place of the last chat of the page before.
   */
  listChats(
    of: { owner: string; appName: string },
    page?: { after?: ChatPlace | undefined; limit?: number },
  ): Promise<ListedChat[]>;
  /**
   * Sets the title of a chat. With `was`, only while the title is that one, or while there is none. False if nothing was
   * changed.
   */
  setTitle(chat: string, title: string, was?: { title: string | undefined }): Promise<boolean>;
  /** Appends events that answer no calls, in one transaction. Throws `not_found` without the session. */
  appendEvents(sessionId: string, events: readonly { id: string; event: JsonObject }[]): Promise<void>;
  /** Messages in order, those with a higher place in the log than `after`. */
  messagesAfter(chat: string, page?: { after?: number; limit?: number }): Promise<StoredMessage[]>;
  /** Approvals in the order of their creation, those after the position `after`. */
  approvalPage(
    filter: Pick<ApprovalFilter, "appName" | "owner" | "chat" | "state">,
    page: ApprovalPageRange,
  ): Promise<ListedApproval[]>;
  /** Chats, of one app if it is named, that have not changed since `before` and in which no call is open, the oldest first. */
  unchangedChats(range: { appName?: string; before: number; limit: number }): Promise<Session[]>;
  /**
   * Removes chunks of turns that ended before `before`, of at most `limit` turns, the oldest first. With `appName`, only of
   * this app's chats. The beginning and the
   * end of each turn stay, and its last chunk, which says how it ended; the messages have the rest. A chat that has
   * settled rows which are not shown keeps its chunks until they are. Returns the number of turns.
   */
  trimChunks(range: { appName?: string; before: number; limit: number }): Promise<number>;
  /** What the audit of a deleted chat has left, by the id of its session. */
  auditHashes(chat: string): Promise<AuditHash[]>;
}

/** Where a chat is in the list of its owner's chats. */
export interface ChatPlace {
  updatedAt: number;
  /** The id of the session. */
  id: string;
}

/** A chat of the list of chats. */
export interface ListedChat extends Omit<Session, "state" | "chat" | "revision"> {
  /** How many questions wait in it. */
  pending: number;
}

/** Which page of the list of approvals to return. */
export interface ApprovalPageRange {
  after?: number | undefined;
  limit: number;
  /** Larger results of calls are left out, in bytes of JSON. */
  maxOutput: number;
}

/** A row of the list of approvals. */
export interface ListedApproval {
  /** Its place in the order of creation. */
  position: number;
  approval: Approval;
  /** Set if the outcome is left out because of its size. */
  outputSize?: number;
}

/** One change of an approval, in the audit of its chat. Each entry is hashed over the one before (`verifyAudit`). */
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

/** An entry of a deleted chat's audit. It names no one and nothing. */
export interface AuditHash {
  sequence: number;
  hash: string;
}
