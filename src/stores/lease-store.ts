import type { JsonObject } from "./store.ts";

/**
 * Which node has which chat. A node is one process among those that share a store. One node at a time has a chat: it runs
 * its turns and has its live connection, and it alone may write to it. A request that reaches another node is posted to
 * the node that has the chat.
 *
 * `append`, `appendEvent`, `appendEvents`, `withdrawEvents`, `openSession`, `createApproval`, `markTold` and `markShown`
 * throw {@link NotOwner} at a node that does not have the chat. Decisions and claims (`move`) may come from any node.
 */
export interface LeaseStore {
  /** The name of this process. */
  readonly node: string;
  /**
   * Takes a chat that no other node has, or renews its lease. Returns the lease as it is then: this node's, or that of the
   * node that has the chat. Throws `not_found` without the chat.
   */
  holdChat(chat: string, leaseMs: number): Promise<ChatLease>;
  /** The lease of a chat, unless it is free or has lapsed. */
  leaseOf(chat: string): Promise<ChatLease | undefined>;
  /**
   * Renews the leases of all chats that this node has, or of those of one app. Returns those that another node has taken
   * meanwhile.
   */
  renewChats(leaseMs: number, filter?: { appName?: string }): Promise<string[]>;
  /** Gives chats back, so that another node can take them at once. Does nothing for chats that this node does not have. */
  releaseChats(chats: readonly string[]): Promise<void>;

  /** Posts a request to the node that has the chat. */
  post(request: { id: string; chat: string; body: JsonObject }): Promise<void>;
  /**
   * Takes the requests that were posted for the chats of this node, or for those of one app, oldest first. Each is taken
   * once.
   */
  takePosted(filter?: { appName?: string }): Promise<Posted[]>;
  /** Records what came of a request that this node took. */
  answerPosted(id: string, answer: JsonObject): Promise<void>;
  /** What became of a request that this node posted; undefined when it is gone. An answer can be read once. */
  readAnswer(id: string): Promise<{ takenBy?: string; answer?: JsonObject } | undefined>;
  /** Takes a posted request back. False if a node has taken it. */
  takeBack(id: string): Promise<boolean>;
  /** Calls back when something may have been posted to this node, or answered. A hint. Returns a function that stops it. */
  onPosted(listener: () => void): () => void;

  /** Notes for some time that clients at this node use chats, by any keys. */
  notePresence(keys: readonly string[], ms: number): Promise<void>;
  /** True while a client at another node uses a chat. */
  isPresentElsewhere(key: string): Promise<boolean>;
}

/** Which node has a chat, and until when. */
export interface ChatLease {
  node: string;
  /** Rises whenever a node takes the chat. What is written with an older one is refused. */
  fence: number;
  /** Until when the node has the chat, by the store's clock, unless it renews the lease. */
  until: number;
  /** Set when this call took the chat. */
  isNew?: true;
}

/** A request that another node has posted to this one. */
export interface Posted {
  id: string;
  chat: string;
  body: JsonObject;
}

/** This node does not have the chat, so it may not write to it. */
export class NotOwner extends Error {
  override readonly name = "NotOwner";
  readonly chat: string;
  constructor(chat: string) {
    super(`Another node has taken chat ${chat}.`);
    this.chat = chat;
  }
}
