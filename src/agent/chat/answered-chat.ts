import type { AppStore } from "../../stores/app-store.ts";
import type { Session } from "../../stores/index.ts";
import type { Answer } from "./answers.ts";

/**
 * The chat that answers belong to. An answer decides the approval that it names, whichever chat of its owner it was sent
 * to: a client may have another id for the chat by now, or send none. The id of a call is not unique in all chats, so
 * `chatName` is looked at first, and in other chats only a call that waits counts. Undefined if there is no such chat.
 */
export async function answeredChat(
  owner: string,
  chatName: string | undefined,
  answers: readonly Answer[],
  store: AppStore,
): Promise<Session | undefined> {
  const named = chatName === undefined ? undefined : await store.findChat(owner, chatName);
  if (answers.length === 0) return named;
  const ids = new Set(answers.map(({ id }) => id));
  const rows = await store.listApprovals({ owner, about: [...ids] });
  const row = rows.find(({ id }) => ids.has(id)) ?? rows.find(({ chat }) => chat === named?.id);
  if (row) return row.chat === named?.id ? named : store.getSession(row.chat);
  const waiting = rows.filter(({ state }) => state === "pending" || state === "waiting");
  const [chat, another] = new Set(waiting.map((each) => each.chat));
  return chat === undefined || another !== undefined ? named : store.getSession(chat);
}
