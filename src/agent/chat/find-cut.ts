import { isDeepStrictEqual } from "node:util";
import type { UIMessage } from "ai";
import { BridgeError } from "../../protocol/index.ts";
import type { Store, StoredMessage } from "../../stores/index.ts";
import { takenMessageId } from "./errors.ts";

/** Where a chat is cut, in terms of its messages. */
export interface MessageCut {
  /** The messages that are withdrawn, in order. */
  withdrawn: readonly StoredMessage[];
  /** The last message that stays. */
  before: StoredMessage | undefined;
}

/** A reply that is made again, and the user's message that it replies to. */
export interface ReplyCut extends MessageCut {
  message: StoredMessage;
}

/** What a client's list of messages says about a wish for another reply. */
export interface WantedReply {
  /** The reply, or the user's message that gets another one. */
  messageId?: string | undefined;
  /** The id of the last message that the client has. Stock clients remove the reply before they ask for another. */
  last?: string | undefined;
}

type Messages = Pick<Store, "messages" | "getMessage" | "lastMessage">;

/** Throws if the id of a user's message belongs to a reply. */
export function refuseTakenId(id: string, known: StoredMessage | undefined): void {
  if (known?.message.role === "assistant") throw takenMessageId(id);
}

/**
 * What a new message replaces, if it is an edit: the message with the same id, or else what comes after the message that
 * the client has before it, if the user wrote something there. A message that is not an edit is added to the chat.
 */
export async function findEdit(
  store: Messages,
  chat: string,
  message: UIMessage,
  after: string | undefined,
): Promise<(MessageCut & { isSame: boolean }) | undefined> {
  const known = await store.getMessage(chat, message.id);
  refuseTakenId(message.id, known);
  if (known) {
    const isSame = isDeepStrictEqual(known.message.parts, JSON.parse(JSON.stringify(message.parts)));
    return { ...(await cutAt(store, chat, known)), isSame };
  }
  const before = after === undefined ? undefined : await store.getMessage(chat, after);
  if (!before) return undefined;
  const withdrawn = await messagesAfter(store, chat, before.sequence);
  // What only the server has written there (an outcome, unasked speech) is no reason to withdraw anything.
  if (!withdrawn.some(({ message: { role } }) => role === "user")) return undefined;
  return { withdrawn, before, isSame: false };
}

/** The reply that is wanted again. Throws if there is none. */
export async function findReply(store: Messages, chat: string, wanted: WantedReply): Promise<ReplyCut> {
  const target = await wantedMessage(store, chat, wanted);
  const message = target.message.role === "user" ? target : await lastUserBefore(store, chat, target);
  if (!message)
    throw new BridgeError("conflict", `${target.message.id} replies to no message, so it is not made again.`);
  const from = target === message ? message.sequence : target.sequence - 1;
  const withdrawn = (await messagesAfter(store, chat, message.sequence)).filter(({ sequence }) => sequence > from);
  const [first] = withdrawn;
  const before = first && (await store.messages(chat, { before: first.message.id, limit: 1 })).at(-1);
  return { message, withdrawn, before: before ?? message };
}

/** The same reply from the first message after the user's. */
export async function wholeReply(store: Messages, chat: string, { message }: ReplyCut): Promise<ReplyCut> {
  return { message, withdrawn: await messagesAfter(store, chat, message.sequence), before: message };
}

async function wantedMessage(store: Messages, chat: string, { messageId, last }: WantedReply): Promise<StoredMessage> {
  if (messageId !== undefined) {
    const named = await store.getMessage(chat, messageId);
    if (!named) throw new BridgeError("not_found", `There is no message ${messageId} in this chat to reply to again.`);
    return named;
  }
  const held = last === undefined ? undefined : await store.getMessage(chat, last);
  if (held?.message.role === "user") return held;
  if (held) {
    // The client has removed the reply after this one, or it has removed nothing.
    const [next] = await messagesAfter(store, chat, held.sequence);
    return next?.message.role === "assistant" ? next : held;
  }
  const found = await store.lastMessage(chat, "user");
  if (!found) throw new BridgeError("not_found", "There is no reply to make again.");
  return found;
}

async function cutAt(store: Messages, chat: string, first: StoredMessage): Promise<MessageCut> {
  const [before] = await store.messages(chat, { before: first.message.id, limit: 1 });
  return { withdrawn: [first, ...(await messagesAfter(store, chat, first.sequence))], before };
}

async function lastUserBefore(
  store: Messages,
  chat: string,
  { message: { id } }: StoredMessage,
): Promise<StoredMessage | undefined> {
  for (let before = id; ;) {
    const page = await store.messages(chat, { before, limit: pageSize });
    const found = page.findLast(({ message: { role } }) => role === "user");
    const [first] = page;
    if (found || !first) return found;
    before = first.message.id;
  }
}

const pageSize = 20;

/** The messages after this sequence number, in order. Costs what it returns. */
async function messagesAfter(store: Messages, chat: string, sequence: number): Promise<StoredMessage[]> {
  const found: StoredMessage[] = [];
  for (let before: string | undefined; ;) {
    const page = await store.messages(chat, { limit: pageSize, ...(before !== undefined && { before }) });
    const later = page.filter((message) => message.sequence > sequence);
    found.unshift(...later);
    const [first] = page;
    if (!first || later.length < page.length) return found;
    before = first.message.id;
  }
}
