import type { UIMessage } from "ai";
import type { Approval, Store, StoredMessage } from "../../stores/index.ts";
import { rowsByCall, settleMessage, shownIds } from "./settle-message.ts";

/** Messages of a chat in order. */
export interface MessagePage {
  messages: UIMessage[];
  /** Names the page before this one, if there is one: pass it as `before`. */
  before?: string;
  /** The rows of the calls that these messages show. */
  rows: Approval[];
}

export interface PageRange {
  /** Only messages before the one with this id. */
  before?: string | undefined;
  /** At most so many. Default 1,000. */
  limit?: number | undefined;
}

const defaultLimit = 1000;
/** A page ends early when it has so many characters, so that one request cannot ask for everything at once. */
const maxPageSize = 16 * 1024 * 1024;
/** Messages are read in batches, and other requests come between them. */
const batchSize = 50;

/** The last messages of a chat, or the last ones before `before`. Costs what it returns. */
export async function readMessages(store: Store, chat: string, range: PageRange = {}): Promise<MessagePage> {
  const limit = range.limit ?? defaultLimit;
  const found: StoredMessage[] = [];
  let size = 0;
  let { before } = range;
  let isEnd = false;
  while (found.length < limit && size < maxPageSize && !isEnd) {
    if (found.length > 0) await new Promise((resolve) => setImmediate(resolve));
    const wanted = Math.min(batchSize, limit - found.length);
    // One more than wanted, to know whether there are earlier ones.
    const batch = await store.messages(chat, { limit: wanted + 1, ...(before !== undefined && { before }) });
    isEnd = batch.length <= wanted;
    const page = fitting(batch.slice(-wanted), maxPageSize - size);
    isEnd &&= page.length === Math.min(batch.length, wanted);
    size += page.reduce((sum, message) => sum + message.size, 0);
    found.unshift(...page);
    before = found[0]?.message.id;
  }
  const messages = found.map(({ message }) => message);
  const rows = await store.listApprovals({ chat, about: messages.flatMap(shownIds) });
  const byCall = rowsByCall(rows);
  return {
    messages: messages.map((message) => settleMessage(message, byCall)),
    ...(!isEnd && before !== undefined && { before }),
    rows,
  };
}

/** All messages of a chat, from its pages. */
export async function readAllPages(
  readPage: (before: string | undefined) => Promise<{ messages: UIMessage[]; before?: string }>,
): Promise<UIMessage[]> {
  const messages: UIMessage[] = [];
  let before: string | undefined;
  do {
    const page = await readPage(before);
    messages.unshift(...page.messages);
    before = page.before;
  } while (before !== undefined);
  return messages;
}

/** The last messages that fit; at least one, so that reading page by page comes to an end. */
function fitting(batch: readonly StoredMessage[], maxSize: number): StoredMessage[] {
  let size = 0;
  const first = batch.findLastIndex((message) => (size += message.size) > maxSize);
  return batch.slice(Math.min(first + 1, batch.length - 1));
}

/** One message as it is now. */
export async function readMessage(
  store: Store,
  chat: string,
  id: string,
): Promise<{ message: UIMessage; place: number; rows: Approval[] } | undefined> {
  const found = await store.getMessage(chat, id);
  if (!found) return undefined;
  const rows = await store.listApprovals({ chat, about: shownIds(found.message) });
  return { message: settleMessage(found.message, rowsByCall(rows)), place: found.sequence, rows };
}
