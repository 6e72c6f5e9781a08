import type { UIMessage } from "ai";
import { BridgeError, cleanTitle, type EffectClass, isNotFound, maxTitleLength } from "../../protocol/index.ts";
import type { AppStore } from "../../stores/app-store.ts";
import type { ChatLimits, ListedChat, Session } from "../../stores/index.ts";
import type { Executor } from "../approval/executor.ts";
import type { ChatFiles } from "../files/index.ts";
import { chatDeleted } from "../log/chat-deleted.ts";
import { describeError, type Logger, within } from "../support/index.ts";
import type { ChatTurns } from "./chat-turns.ts";
import { decodeCursor, encodeCursor } from "./cursor.ts";
import { unknownChat } from "./errors.ts";
import { exportedChat } from "./exported-chat.ts";
import { readExportedChat, storeImportedChat } from "./import-chat.ts";
import { ChatElsewhere } from "./ownership.ts";
import type { Relay } from "./relay.ts";

/** A chat as its owner sees it in a list. */
export interface ChatView {
  /** The id by which clients know it. */
  id: string;
  /** Empty if its first message has no words. */
  title: string;
  /** In milliseconds since 1970. */
  createdAt: number;
  /** When it last changed, in milliseconds since 1970. */
  updatedAt: number;
  /** How many questions wait in it. */
  pending: number;
}

interface ChatsContext {
  store: AppStore;
  logger: Logger;
  executor: Executor;
  turns: ChatTurns;
  relay: Relay;
  appName: string;
  /** The name of the root agent. */
  agentName: string;
  /** The effect class of a tool. */
  effectOf: (toolName: string) => EffectClass;
  limits: ChatLimits;
  files: Pick<ChatFiles, "takeAllowed" | "keepOutputs">;
  /** Deletes what the application keeps of a chat outside the store. */
  deleteArtifacts: (chat: Session) => Promise<void>;
}

const defaultLimit = 50;
/** How long the application's artifact service may take. */
const artifactsMs = 10_000;

/** The chats of each owner: list, rename, delete, export, import. */
export class Chats {
  readonly #context: ChatsContext;

  constructor(context: ChatsContext) {
    this.#context = context;
    context.relay.handle("delete", ({ chat }) => this.#deleteHere(String(chat)));
  }

  /** Chats of an owner, the one that changed last first. `cursor` names the next page, if there is one. */
  async list(
    owner: string,
    { limit = defaultLimit, cursor }: { limit?: number | undefined; cursor?: string | undefined } = {},
  ): Promise<{ chats: ChatView[]; cursor?: string }> {
    const place = cursor === undefined ? undefined : decodeCursor(cursor, ["number", "string"]);
    const after = place && { updatedAt: Number(place[0]), id: String(place[1]) };
    // One more than wanted, to know whether there are more.
    const found = await this.#context.store.listChats({ owner }, { after, limit: limit + 1 });
    const page = found.slice(0, limit);
    const last = page.at(-1);
    const hasMore = found.length > limit && last !== undefined;
    return { chats: page.map(toView), ...(hasMore && { cursor: encodeCursor([last.updatedAt, last.id]) }) };
  }

  /** Gives a chat another title. Throws if nothing of the title can be seen, or it is too long. */
  async rename(owner: string, name: string, title: string): Promise<ChatView> {
    const { store } = this.#context;
    const text = cleanTitle(title);
    if (text === "") throw new BridgeError("invalid", "title must have characters that can be seen.");
    if (text !== cleanTitle(title, Infinity))
      throw new BridgeError("invalid", `title must have at most ${maxTitleLength} characters.`);
    const chat = await this.#require(owner, name);
    if (!(await store.setTitle(chat.id, text))) throw unknownChat(name);
    const pending = await store.listApprovals({ chat: chat.id, state: "pending" });
    return toView({ ...chat, title: text, pending: pending.length });
  }

  /**
   * Deletes a chat with everything that belongs to it. Its turns and its live connection are stopped, its questions are
   * cancelled, and its readers are told. Tools that run are aborted, and what becomes of them is dropped.
   */
  async delete(owner: string, name: string): Promise<void> {
    const chat = await this.#require(owner, name);
    await this.#context.relay
      .run(() => this.#deleteHere(chat.id), {
        relayed: async () => ({ name: "delete", body: { chat: chat.id } }),
        receive: () => true,
        // The answer of the other node goes with the chat.
        isDone: async (id) => (await this.#context.store.getSession(id)) === undefined || undefined,
      })
      .catch((error: unknown) => {
        // Another request has deleted it meanwhile.
        throw isNotFound(error) ? unknownChat(name) : error;
      });
    await this.#removeArtifacts(chat);
  }

  async #deleteHere(id: string): Promise<true> {
    const chat = await this.#context.store.getSession(id);
    if (!chat) throw chatDeleted;
    await this.#context.turns.delete(chat, () => this.#remove(chat));
    return true;
  }

  /** Deletes a chat, unless it has changed since `before` or something runs in it. */
  async deleteUnchanged(chat: Session, before: number): Promise<void> {
    const { turns, store } = this.#context;
    let isDeleted = false;
    const isUnchanged = async () => {
      const { updatedAt = Infinity } = (await store.getSession(chat.id)) ?? {};
      isDeleted = updatedAt < before && !turns.running(chat.id);
      return isDeleted;
    };
    if (turns.isClosed) return;
    await turns
      .delete(chat, () => this.#remove(chat), isUnchanged)
      .catch((error: unknown) => {
        // The node that has the chat deletes it when it is old enough.
        if (!(error instanceof ChatElsewhere)) throw error;
      });
    if (isDeleted) await this.#removeArtifacts(chat);
  }

  /** A chat as lines of JSON, read as the caller takes them. */
  async export(owner: string, name: string): Promise<AsyncGenerator<string>> {
    return exportedChat(this.#context.store, await this.#require(owner, name));
  }

  /** Makes a new chat from the lines of an exported one: words and results, and no approvals. Returns its id. */
  async import(owner: string, lines: AsyncIterable<string>): Promise<string> {
    const { store, appName, agentName: agent, effectOf, limits, turns, files } = this.#context;
    turns.refuseWhenClosed();
    const imported = await readExportedChat(lines);
    const name = crypto.randomUUID();
    const into = { owner, name, appName };
    const chat = await store.openChat(into, limits);
    const context = {
      ...{ store, agent, effectOf },
      takeFiles: (message: UIMessage) => files.takeAllowed(message, into),
      keepOutputs: (message: UIMessage) => files.keepOutputs(message, into),
    };
    try {
      // In the chat's own queue, because only the node that has the chat may write to it.
      await turns.exclusive(chat, () => storeImportedChat(imported, chat, context));
    } catch (error) {
      await store.deleteSession(chat.id);
      throw error;
    }
    return name;
  }

  async #remove(chat: Session): Promise<void> {
    const { store, executor } = this.#context;
    // The audit says what became of the questions; its hashes stay.
    for (const row of await store.listApprovals({ chat: chat.id, state: "pending" }))
      await store.move(row.id, { event: "cancel" });
    for (const row of await store.listApprovals({ chat: chat.id, state: "approved" }))
      await store.move(row.id, { event: "cancel" });
    await store.deleteSession(chat.id);
    // Not before: the outcome of a tool that ends at once would be recorded and shown.
    executor.abandon(chat.id, chatDeleted);
  }

  async #removeArtifacts(chat: Session): Promise<void> {
    const { logger, deleteArtifacts } = this.#context;
    const late = () => new Error(`Deleting them took longer than ${artifactsMs / 1000} seconds.`);
    await within(artifactsMs, deleteArtifacts(chat), late).catch((error: unknown) =>
      logger.error("The artifacts of a deleted chat could not be deleted.", {
        chat: chat.id,
        error: describeError(error),
      }),
    );
  }

  async #require(owner: string, name: string): Promise<Session> {
    const chat = await this.#context.store.findChat(owner, name);
    if (!chat) throw unknownChat(name);
    return chat;
  }
}

function toView({
  name = "",
  title = "",
  createdAt,
  updatedAt,
  pending,
}: Omit<ListedChat, "id" | "owner" | "appName">): ChatView {
  return { id: name, title, createdAt, updatedAt, pending };
}
