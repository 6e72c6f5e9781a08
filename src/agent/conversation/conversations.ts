import type { UIMessage } from "ai";
import { isSettled } from "../../protocol/index.ts";
import type { Approval, Session } from "../../stores/index.ts";
import { lastReply } from "../log/follow-log.ts";
import { newId } from "../support/index.ts";
import type { Mode, Turn } from "../turn-input.ts";
import { LiveConversation } from "./by-live-connection.ts";
import { RequestConversation } from "./by-request.ts";
import { type ConversationContext, storeMessage } from "./context.ts";
import type { Conversation } from "./conversation.ts";
import { updateHistory } from "./update-history.ts";
import { ConnectionPool, type LiveOptions, type UnaskedListener } from "./connection-pool.ts";

/**
 * Makes the conversation of each turn, and answers the questions that depend on the mode of a chat, so that no other code
 * has to know the mode.
 */
export class Conversations {
  readonly #context: ConversationContext;
  readonly #pool: ConnectionPool;

  constructor(context: ConversationContext, live: LiveOptions) {
    this.#context = context;
    this.#pool = new ConnectionPool(context, live);
  }

  /** The conversation of a turn. Nothing is sent or opened yet. */
  of(turn: Turn): Conversation {
    if (turn.mode === "live") return new LiveConversation(turn, this.#context, this.#pool);
    return new RequestConversation(turn, this.#context, () => this.#pool.close(turn.chat.id));
  }

  /** Throws if the owner may not open another live connection. `findChat` finds the chat, which may have one already. */
  async checkRoom(owner: string, mode: Mode, findChat: () => Promise<string | undefined>): Promise<void> {
    if (mode !== "live") return;
    try {
      await this.#pool.checkRoom(owner);
    } catch (error) {
      const chatId = await findChat();
      if (chatId === undefined || !this.isOpen(chatId)) throw error;
    }
  }

  /** True while the chat's model listens between turns. */
  isOpen(chatId: string): boolean {
    return this.#pool.has(chatId);
  }

  /** Ends what is open between turns. The next turn begins with the history. */
  close(chatId: string): Promise<void> {
    return this.#pool.close(chatId);
  }

  closeAll(): Promise<void> {
    return this.#pool.closeAll();
  }

  /** A client is connected to the chat, so its connection stays open. Call the returned function when it leaves. */
  attach(owner: string, chatName: string): () => void {
    return this.#pool.attach(owner, chatName);
  }

  /** Names the chats that clients of this node are connected to. */
  get presentKeys(): readonly string[] {
    return this.#pool.presentKeys;
  }

  /** Stores a user's message in the model's history unless it is there. */
  keepMessage(message: UIMessage, chat: Session): Promise<void> {
    return storeMessage(message, chat, this.#context);
  }

  /** Reports what a model does between turns. */
  subscribe(listener: UnaskedListener): void {
    this.#pool.subscribe(listener);
  }

  /** The model cancelled these calls, and they are settled now. */
  async recordCancelled(chatId: string, callIds: readonly string[]): Promise<void> {
    await this.#pool.get(chatId)?.recordCancelled(callIds);
  }

  /** Writes outcomes that can be told now to the model's history, if no model listens. */
  async record(chat: Session): Promise<void> {
    if (this.isOpen(chat.id)) return;
    const session = await this.#context.sessions.load(chat);
    await updateHistory(session, chat.id, { kind: "record" }, this.#context);
  }

  /**
   * How a chat continues after an outcome. `mode` is that of the client that caused it, if one did. Without a client, the
   * outcome of a live call is only shown, unless the connection is still open: the model is told when someone talks to it
   * again. If a person has decided (`attended`) and a client of the chat is connected, the model is told now.
   */
  async continuation(
    { id, owner, name = "" }: Session,
    { reply, mode: requested, attended = false }: { reply: string; mode?: Mode; attended?: boolean },
  ): Promise<{ mode: Mode; asksModel: boolean; isRequested: boolean }> {
    if (requested !== undefined) return { mode: requested, asksModel: true, isRequested: true };
    const mode = this.isOpen(id) ? "live" : "request";
    if (await this.mayAskUnattended(id, reply)) return { mode, asksModel: true, isRequested: false };
    if (!attended || !(await this.#pool.isUsed(owner, name))) return { mode, asksModel: false, isRequested: false };
    return { mode: "live", asksModel: true, isRequested: false };
  }

  /** True when the server may ask the model about this reply although no client is waiting. */
  async mayAskUnattended(chatId: string, reply: string): Promise<boolean> {
    return this.isOpen(chatId) || continuesUnattended(await this.#rowsOf(chatId, reply));
  }

  /**
   * The message that shows an outcome which no request asked for. By request this is the call's own message. Live, the
   * conversation may have moved on, and then the outcome gets a message of its own. So does the outcome of a call whose
   * message was withdrawn.
   */
  async placeFor(chatId: string, messageId: string): Promise<string> {
    const { store } = this.#context;
    if ((await lastReply(store, chatId)) === messageId) return messageId;
    if (!(await store.getMessage(chatId, messageId))) return newId("msg");
    const movesOn = this.isOpen(chatId) || !continuesUnattended(await this.#rowsOf(chatId, messageId));
    return movesOn ? newId("msg") : messageId;
  }

  /** How unasked speech is shown: in the last message while its calls wait, otherwise in a new one. */
  async forSpeech({ id, owner }: Session): Promise<Pick<Turn, "reply" | "mode" | "actor">> {
    const last = await lastReply(this.#context.store, id);
    const waits = last !== undefined && (await this.#rowsOf(id, last)).some(({ state }) => !isSettled(state));
    return { reply: waits ? last : newId("msg"), mode: "live", actor: this.#pool.get(id)?.lastActor ?? owner };
  }

  async #rowsOf(chatId: string, reply: string): Promise<Approval[]> {
    return this.#context.store.listApprovals({ chat: chatId, messageId: reply });
  }
}

/** True when a reply can continue without a client: it and its calls were made by request. */
export function continuesUnattended(rows: readonly Approval[], reply: Mode = "request"): boolean {
  return reply === "request" && rows.every(({ mode }) => mode === "request");
}
