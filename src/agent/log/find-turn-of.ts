import type { UIMessage } from "ai";
import type { Store } from "../../stores/index.ts";
import type { LoggedTurn } from "./read-turn.ts";

/** The turn that a user's message began, and the message as it is now; undefined if the chat has no such message. */
export async function findTurnOf(
  store: Store,
  chat: string,
  messageId: string,
): Promise<{ turn: Pick<LoggedTurn, "id" | "reply" | "after">; message: UIMessage } | undefined> {
  const stored = await store.getMessage(chat, messageId);
  if (stored?.message.role !== "user") return undefined;
  const after = stored.sequence - 1;
  const [begin] = await store.read(chat, { after, limit: 1 });
  if (begin?.kind !== "begin") return undefined;
  return { turn: { id: begin.turn, reply: begin.reply, after }, message: stored.message };
}
