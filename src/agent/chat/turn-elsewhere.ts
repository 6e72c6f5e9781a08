import type { Store } from "../../stores/index.ts";
import type { QueuedTurn } from "./chat-queue.ts";

/** A turn that another node runs, or that a crash has left, to be read from the log. `stop` has it stopped there. */
export function turnElsewhere(turn: Pick<QueuedTurn, "id" | "reply" | "after">, stop: QueuedTurn["stop"]): QueuedTurn {
  // Its end is in the log. If its node dies, another one continues the chat and writes the end.
  const done = new Promise<void>(() => undefined);
  return { ...turn, covers: new Set(), done, stop };
}

/** The turn of a chat that the log has not to its end, if there is one. */
export async function findOpenTurn(
  store: Store,
  chat: string,
): Promise<Pick<QueuedTurn, "id" | "reply" | "after"> | undefined> {
  const [open] = await store.openTurns({ chat });
  if (!open) return undefined;
  const after = open.sequence - 1;
  const [begin] = await store.read(chat, { after, limit: 1 });
  return begin?.kind === "begin" ? { id: begin.turn, reply: begin.reply, after } : undefined;
}
