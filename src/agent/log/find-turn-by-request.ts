import { isDeepStrictEqual } from "node:util";
import type { UIMessage } from "ai";
import type { Store } from "../../stores/index.ts";
import type { LoggedTurn } from "./read-turn.ts";

/** A request that may have come before. */
export interface KnownRequest {
  id: string;
  /** The user's message that it brings. */
  message?: UIMessage | undefined;
  /** Where the log ended when the request came for the first time. */
  since?: number | undefined;
}

const pageSize = 256;

/** The turn that a request has begun since the user's last message; undefined if it has begun none. */
export async function findTurnByRequest(
  store: Pick<Store, "lastMessage" | "read">,
  chat: string,
  { id, message, since = Infinity }: KnownRequest,
): Promise<Pick<LoggedTurn, "id" | "reply" | "after"> | undefined> {
  const last = await store.lastMessage(chat, "user");
  if (!last) return undefined;
  // Nodes of an older release do not write the id of the request. Then its message, if it is new, names the turn.
  const isItsMessage =
    last.sequence > since &&
    last.message.id === message?.id &&
    isDeepStrictEqual(last.message.parts, JSON.parse(JSON.stringify(message.parts)));
  for (let after = last.sequence - 1; ;) {
    // Page by page: a reply may be long.
    const entries = await store.read(chat, { after, limit: pageSize });
    for (const entry of entries) {
      if (entry.kind !== "begin") continue;
      if (entry.origin?.request === id || (isItsMessage && entry.sequence === last.sequence))
        return { id: entry.turn, reply: entry.reply, after: entry.sequence - 1 };
    }
    const end = entries.at(-1);
    if (!end || entries.length < pageSize) return undefined;
    after = end.sequence;
  }
}
