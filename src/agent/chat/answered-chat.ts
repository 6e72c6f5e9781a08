import type { Approval, Session, Store } from "../../stores/index.ts";
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
  store: Store,
): Promise<Session | undefined> {
  const named = chatName === undefined ? undefined : await store.findChat(owner, chatName);
  for (const { id } of answers) {
    const row = await store.getApproval(id);
    if (row?.owner === owner) return row.chat === named?.id ? named : store.getSession(row.chat);
  }
  const isAnswered = ({ toolCallId }: Approval) => answers.some(({ id }) => id === toolCallId);
  if (answers.length === 0 || (named && (await store.listApprovals({ chat: named.id })).some(isAnswered))) return named;
  const waiting = await Promise.all(
    (["pending", "waiting"] as const).map((state) => store.listApprovals({ owner, state })),
  );
  const [chat, another] = new Set(
    waiting
      .flat()
      .filter(isAnswered)
      .map((row) => row.chat),
  );
  return chat === undefined || another !== undefined ? named : store.getSession(chat);
}
