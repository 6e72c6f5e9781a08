import type { UIMessage } from "ai";
import type { Store } from "../../stores/index.ts";
import { findTurnAt } from "../log/find-held-turn.ts";
import type { QueuedTurn } from "./chat-queue.ts";
import type { ChatTurns } from "./chat-turns.ts";

/** A message whose reply was cut off before the model had said anything that stays. */
export interface UnansweredMessage {
  message: UIMessage;
  /** The reply that is made again. */
  reply: string;
  actor?: string | undefined;
}

/**
 * Says a user's message again in a new turn, as when it came. Does nothing if the user has written another one since, or if the
 * reply has been made again: two nodes may have been asked to do it.
 */
export async function sayAgain(
  { message, reply, actor }: UnansweredMessage,
  chatId: string,
  { store, turns }: { store: Store; turns: ChatTurns },
): Promise<QueuedTurn | undefined> {
  return turns.inChat(chatId, async (queue) => {
    const last = await store.lastMessage(chatId, "user");
    if (last?.message.id !== message.id || queue.running || !(await isCutOff(store, chatId))) return undefined;
    const input = { kind: "message", message: last.message, record: false } as const;
    return turns.enqueueUnasked(queue, { reply, input, mode: "request", actor: actor ?? queue.chat.owner });
  });
}

/** True if the turn at the end of the log ended in the middle of its reply. */
async function isCutOff(store: Store, chat: string): Promise<boolean> {
  const turn = await findTurnAt(store, chat, await store.lastSequence(chat));
  return turn?.end === "cut";
}
