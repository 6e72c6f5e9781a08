import type { UIMessage, UIMessageChunk } from "ai";
import type { Store, TurnOrigin } from "../../stores/index.ts";
import { newId } from "../support/index.ts";
import type { Turn } from "../turn-input.ts";

/** A turn whose first entries are in the log already, after this sequence number. */
export interface BegunTurn {
  id: string;
  after: number;
  chunks: readonly UIMessageChunk[];
}

/**
 * Records a user's message with the beginning of its turn. The message is in the log when this returns, so that a request
 * is acknowledged only when its message cannot be lost any more. Call it when no turn of the chat runs.
 */
export async function beginTurn(
  store: Store,
  chat: string,
  { message, reply, ...origin }: { message: UIMessage } & Pick<Turn, "reply"> & TurnOrigin,
): Promise<BegunTurn> {
  const turn = newId("turn");
  const start: UIMessageChunk = { type: "start", messageId: reply };
  const [begin] = await store.append(chat, [
    { turn, kind: "begin", reply, message, origin },
    { turn, kind: "chunk", chunk: start },
  ]);
  return { id: turn, after: (begin?.sequence ?? 1) - 1, chunks: [start] };
}
