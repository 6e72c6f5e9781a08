import type { UIMessage, UIMessageChunk } from "ai";
import type { Approval, NewEvent } from "./store.ts";

/** The log of chunks, one per chat. */
export interface LogStore {
  /**
   * Appends entries of one chat with consecutive sequence numbers (from 1), in one transaction. Throws `not_found` when
   * there is no such chat, so that a turn cannot outlive its chat, and `conflict` for an `end` of a turn that is not open:
   * each turn ends once. The same transaction changes the chat's messages: the
   * user's message of a `begin` and the reply of an `end` are stored, a `withdraw` removes those from its number on. With
   * `withdrawal` it also changes the history and the rows that belong to what is withdrawn.
   */
  append(chat: string, entries: readonly NewLogEntry[], withdrawal?: Withdrawal): Promise<LogEntry[]>;
  /** Entries with `after < sequence`, in order. A missing number is a chunk that was removed (`trimChunks`). */
  read(chat: string, range?: { after?: number; limit?: number }): Promise<LogEntry[]>;
  /** The last sequence number of a chat, 0 when its log is empty. */
  lastSequence(chat: string): Promise<number>;
  /**
   * Calls back after appends, those of other processes a little later, and when the chat is deleted. A hint: the log is the
   * truth. Returns a function that stops it.
   */
  watch(chat: string, listener: LogListener): () => void;
  /**
   * Turns with a `begin` and no `end`, oldest first. Without a chat: those of all chats, or of all chats of one app, except
   * chats that another node has.
   */
  openTurns(filter?: { chat?: string; appName?: string }): Promise<{ chat: string; turn: string; sequence: number }[]>;
}

/** The messages of each chat, whole, as the log's finished turns add up to them. Written by {@link LogStore.append}. */
export interface MessageStore {
  /**
   * The last `limit` messages before the message `before` (default: of the chat), in order. Empty if the chat has no
   * message `before`.
   */
  messages(chat: string, range?: { before?: string; limit?: number }): Promise<StoredMessage[]>;
  getMessage(chat: string, id: string): Promise<StoredMessage | undefined>;
  /** The last message of the user, or else of the assistant. */
  lastMessage(chat: string, role: "user" | "assistant"): Promise<StoredMessage | undefined>;
}

/**
 * `begin` opens a turn: the user's message if there is one, and the id of the assistant message the turn writes to.
 * `withdraw` removes the chunks and messages from `from` on (an interrupted step that runs again, an edited message, a reply that is made
 * again).
 */
export type NewLogEntry = { turn: string } & (
  | { kind: "begin"; reply: string; message?: UIMessage; origin?: TurnOrigin }
  | { kind: "chunk"; chunk: UIMessageChunk }
  | {
      kind: "withdraw";
      from: number;
      /** The id of the first message that is withdrawn, if whole messages are. */
      message?: string;
    }
  | {
      kind: "end";
      /** The reply as it is now. It is stored as a message, not in the log. */
      message?: UIMessage;
    }
);

/** Where a turn comes from, for the process that continues it after a crash. */
export interface TurnOrigin {
  /** How the model is talked to. */
  mode: Approval["mode"];
  /** Whose message the turn comes from. */
  actor: string;
  /** The request that began the turn, if it has an id. It may come again, and begins one turn. */
  request?: string | undefined;
}

/** What the end of messages means for the model's history and for the rows of their calls. */
export interface Withdrawal {
  /** The positions of the chat's events that leave the history; their calls may be answered again. */
  events: readonly number[];
  /** Events that are appended to the history. One with an id that exists replaces that event in place. */
  put: readonly NewEvent[];
  /** Settled rows that need no further work: they are marked as told and as shown. Others are left alone. */
  closed: readonly string[];
  /** Rows whose call another message shows from now on. */
  moved: { rows: readonly string[]; messageId: string };
}

/** Is told that a chat's log has more entries, or that the chat is gone. */
export type LogListener = (news: LogNews) => void;

/** What is new about a chat's log. */
export interface LogNews {
  /** What was appended, if this process appended it. */
  entries?: readonly LogEntry[];
  isDeleted?: true;
}

/** An entry of a chat's log, with its number and its time. */
export type LogEntry = NewLogEntry & { sequence: number; at: number };

/** A message of a chat as the store has it. */
export interface StoredMessage {
  message: UIMessage;
  /** Its place in the log: the user's message is where its turn begins, a reply directly after that. */
  sequence: number;
  /** When the message was last written. */
  at: number;
  /** The length of its JSON in characters. */
  size: number;
}
