import type { Session, Store } from "../../stores/index.ts";
import { FilesByValue } from "../files/index.ts";
import { chatDeleted } from "../log/chat-deleted.ts";
import { rowsByCall, settleMessage, shownIds } from "../log/settle-message.ts";

/** The first line of an exported chat. */
export const exportFormat = "adk-stream-protocol.chat";
export const exportVersion = 1;

/** Messages are read in small pages, at the pace of the reader. */
const pageSize = 20;

/**
 * A chat as lines of JSON: a header, then each message in order, with what became of its calls and with its files. The reply
 * that is being generated is left out. Throws if the chat is deleted meanwhile.
 */
export async function* exportedChat(store: Store, chat: Session): AsyncGenerator<string> {
  const { id, name, title, createdAt, updatedAt } = chat;
  yield toLine({ format: exportFormat, version: exportVersion, id: name, title, createdAt, updatedAt });
  const files = new FilesByValue(store, id);
  for (let after = 0; ;) {
    const page = await store.messagesAfter(id, { after, limit: pageSize });
    const last = page.at(-1);
    if (!last) break;
    const rows = rowsByCall(
      await store.listApprovals({ chat: id, about: page.flatMap((each) => shownIds(each.message)) }),
    );
    for (const { message, at } of page)
      yield toLine({ type: "message", at, message: await files.message(settleMessage(message, rows)) });
    after = last.sequence;
  }
  // Without this a chat that is deleted now would look like a short one.
  if (!(await store.getSession(id))) throw chatDeleted;
}

function toLine(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}
