import type { Event } from "@google/adk";
import type { UIMessage } from "ai";
import { BridgeError } from "../../protocol/index.ts";
import type { Session, Store } from "../../stores/index.ts";
import { metadataOf } from "../adk/event-metadata.ts";
import { keptOf, openCalls, responsesOf } from "../adk/history.ts";
import { taskCompleted } from "../adk/missing-tool.ts";
import { cancelFamily } from "../approval/family.ts";
import { newId } from "../support/index.ts";

/** The message whose reply is made again, and the way to withdraw that reply. */
export interface Regeneration {
  message: UIMessage;
  withdraw(): Promise<void>;
}

/** Finds the last reply. Refuses when a tool ran in it, because that cannot be undone. */
export async function findReply(chat: Session, messageId: string | undefined, store: Store): Promise<Regeneration> {
  const log = await store.read(chat.id);
  const begin = log.findLast((entry) => entry.kind === "begin" && entry.message !== undefined);
  if (begin?.kind !== "begin" || !begin.message) throw new BridgeError("not_found", "There is no reply to make again.");
  const { message } = begin;
  const replies = new Set(
    log.flatMap((entry) => (entry.kind === "begin" && entry.sequence >= begin.sequence ? [entry.reply] : [])),
  );
  if (messageId !== undefined && messageId !== message.id && !replies.has(messageId))
    throw new BridgeError("conflict", `Only the last reply can be made again; ${messageId} is not it.`);

  const events = await store.events(chat.id);
  const from = events.findLast(({ event }) => metadataOf(event).message === message.id)?.position;
  const since =
    from === undefined
      ? []
      : events.filter(({ position }) => position >= from).map(({ event }) => event as unknown as Event);
  const rows = (await store.listApprovals({ chat: chat.id })).filter((row) => replies.has(row.messageId));
  // Calls without a row have run, or were stopped while they ran.
  const free = [
    ...since.flatMap((event) => [...responsesOf(event), ...keptOf(event).map((part) => part.functionResponse)]),
    ...openCalls(since).map(({ call }) => call),
  ].filter(({ id, name }) => !handsOver(name) && !rows.some((row) => row.toolCallId === id));
  // An approved call is about to run; the executor does not ask us.
  const effects = rows.filter(
    ({ state, external }) =>
      ["executing", "waiting", "succeeded", "failed", "indeterminate"].includes(state) ||
      (state === "approved" && !external),
  );
  if (free.length + effects.length > 0) {
    const tool = effects[0]?.toolName ?? free[0]?.name;
    throw new BridgeError("had_effect", `The reply cannot be made again: ${tool} ran in it.`);
  }

  return {
    message,
    async withdraw() {
      for (const row of rows) {
        await cancelFamily(row, store);
        // The call leaves the history, so the model need not be told its outcome.
        await store.markTold(row.id);
      }
      if (from !== undefined) await store.withdrawEvents(chat.id, from);
      const turn = newId("turn");
      await store.append(chat.id, [{ turn, kind: "withdraw", from: begin.sequence + 1 }]);
    },
  };
}

/** Tools by which agents hand over to each other. They have no effect of their own. */
const handsOver = (name: string | undefined) => name === "transfer_to_agent" || name === taskCompleted;
