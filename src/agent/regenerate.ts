import { getFunctionResponses, type Event } from "@google/adk";
import type { UIMessage } from "ai";
import { BridgeError } from "../protocol/index.ts";
import type { Session, Store } from "../stores/index.ts";
import { cancel } from "./heal.ts";
import { keptOf, openCalls } from "./history.ts";
import { newId } from "./ids.ts";
import { taskCompleted } from "./missing-tool.ts";

/** The message whose reply is made again, and the way to take that reply back. */
export interface Regeneration {
  message: UIMessage;
  withdraw(): Promise<void>;
}

/** Finds the last reply. Refuses when it had an effect: what a tool has done cannot be taken back. */
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
  const from = events.findLast(
    ({ event }) => (event as unknown as Event).customMetadata?.["message"] === message.id,
  )?.position;
  const since =
    from === undefined
      ? []
      : events.filter(({ position }) => position >= from).map(({ event }) => event as unknown as Event);
  const rows = (await store.listApprovals({ chat: chat.id })).filter((row) => replies.has(row.messageId));
  // Calls in no ledger have run, or were stopped while they did.
  const free = [
    ...since.flatMap((event) => [
      ...getFunctionResponses(event),
      ...keptOf(event).map((part) => part.functionResponse),
    ]),
    ...openCalls(since).map(({ call }) => call),
  ].filter(({ id, name }) => !handsOver(name) && !rows.some((row) => row.toolCallId === id));
  // A call that was approved is about to run: whoever claims it does not ask us.
  const effects = rows.filter(
    ({ state, external }) =>
      ["executing", "succeeded", "failed", "indeterminate"].includes(state) || (state === "approved" && !external),
  );
  if (free.length + effects.length > 0) {
    const tool = effects[0]?.toolName ?? free[0]?.name;
    throw new BridgeError("had_effect", `The reply cannot be made again: ${tool} ran in it.`);
  }

  return {
    message,
    async withdraw() {
      for (const row of rows) {
        await cancel(row, store);
        // What leaves the history is not owed to the model any more.
        await store.markTold(row.id);
      }
      if (from !== undefined) await store.withdrawEvents(chat.id, from);
      const turn = newId("turn");
      await store.append(chat.id, [{ turn, kind: "withdraw", from: begin.sequence + 1 }]);
    },
  };
}

/** By which agents only take turns. */
const handsOver = (name: string | undefined) => name === "transfer_to_agent" || name === taskCompleted;
