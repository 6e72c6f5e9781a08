import { isSettled } from "../../protocol/index.ts";
import type { Approval, Store } from "../../stores/index.ts";
import { isLastChunk } from "../log/read-turn.ts";
import { aside } from "../support/index.ts";
import type { QueuedTurn } from "./chat-queue.ts";

type TurnInLog = Pick<QueuedTurn, "id" | "reply" | "after">;

/** How long a turn is waited for that is about to begin, and how often the log is looked at meanwhile. */
const beginMs = 1000;
const lookMs = 20;
/** A turn begins within this time after the decision, the outcome or the cut-off reply that causes it, or not at all. */
const recentMs = 5000;
/** How many rows of the chat are looked at, the newest. */
const maxRows = 20;

/** A turn that another node runs, or that a crash has left, to be read from the log. `stop` has it stopped there. */
export function turnElsewhere(turn: TurnInLog, stop: QueuedTurn["stop"]): QueuedTurn {
  // Its end is in the log. If its node dies, another one continues the chat and writes the end.
  const done = new Promise<void>(() => undefined);
  return { ...turn, covers: new Set(), done, stop };
}

/** The turn of a chat that the log has not to its end, if there is one. */
async function findOpenTurn(store: Store, chat: string): Promise<TurnInLog | undefined> {
  const [open] = await store.openTurns({ chat });
  if (!open) return undefined;
  const after = open.sequence - 1;
  const [begin] = await store.read(chat, { after, limit: 1 });
  return begin?.kind === "begin" ? { id: begin.turn, reply: begin.reply, after } : undefined;
}

/**
 * The same, and a turn that is about to begin: a page that loads at this moment must not be told that the reply is over.
 * Another node has recorded a decision or an outcome, and its turn is not in the log yet; or a reply was cut off, and the
 * turn that makes it again has not begun.
 */
export async function findTurnElsewhere(store: Store, chat: string): Promise<TurnInLog | undefined> {
  const until = performance.now() + beginMs;
  for (;;) {
    // Read first: the turn may begin after the look for it.
    const sequence = await store.lastSequence(chat);
    const open = await findOpenTurn(store, chat);
    if (open || performance.now() > until || !(await isAboutToBegin(store, chat, sequence))) return open;
    await aside(() => new Promise((resolve) => setTimeout(resolve, lookMs)));
  }
}

async function isAboutToBegin(store: Store, chat: string, sequence: number): Promise<boolean> {
  if (await wasJustCut(store, chat, sequence)) return true;
  const lease = await store.leaseOf(chat);
  if (!lease || lease.node === store.node) return false;
  const rows = await store.listApprovals({ chat, newest: maxRows });
  const since = store.now() - recentMs;
  return rows.some((row) => isUnshown(row) && Math.max(row.decidedAt ?? 0, row.finishedAt ?? 0) > since);
}

/** True if the turn that ends with this entry was ended in the middle of its reply a short time ago. */
async function wasJustCut(store: Store, chat: string, sequence: number): Promise<boolean> {
  const [before, end] = await store.read(chat, { after: sequence - 2, limit: 2 });
  if (!before || end?.kind !== "end" || end.at + recentMs < store.now()) return false;
  return before.kind === "withdraw" || (before.kind === "chunk" && !isLastChunk(before.chunk));
}

/** True for a row that a turn will show. An agent run as a tool waits for its own calls. */
function isUnshown({ state, told, shown, innerSession }: Approval): boolean {
  if (isSettled(state)) return !told && !shown;
  return innerSession === undefined && (state === "approved" || state === "executing");
}
