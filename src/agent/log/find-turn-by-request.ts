import type { Store } from "../../stores/index.ts";
import type { LoggedTurn } from "./read-turn.ts";

/** The turn that a request has begun since the user's last message; undefined if it has begun none. */
export async function findTurnByRequest(
  store: Pick<Store, "lastMessage" | "read">,
  chat: string,
  request: string,
): Promise<Pick<LoggedTurn, "id" | "reply" | "after"> | undefined> {
  const message = await store.lastMessage(chat, "user");
  if (!message) return undefined;
  for (const entry of await store.read(chat, { after: message.sequence - 1 }))
    if (entry.kind === "begin" && entry.origin?.request === request)
      return { id: entry.turn, reply: entry.reply, after: entry.sequence - 1 };
  return undefined;
}
