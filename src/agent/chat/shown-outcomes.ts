import { isToolUIPart, type UIMessage } from "ai";
import { type ApprovalData, isSettled } from "../../protocol/index.ts";
import type { Approval, LogEntry, Store } from "../../stores/index.ts";
import { readBackwards } from "../log/follow-log.ts";

/** The rows whose outcome the log does not show. */
export async function unshownRows(store: Store, chat: string, rows: readonly Approval[]): Promise<Approval[]> {
  let unshown = [...rows];
  let count = 0;
  for await (const entries of readBackwards(store, chat)) {
    if (unshown.length === 0) return unshown;
    count += entries.length;
    const shown = new Set(entries.flatMap(shownIn));
    unshown = unshown.filter((row) => !shown.has(outcomeKey(row)));
  }
  const isWhole = count === (await store.lastSequence(chat));
  return unshown.length === 0 || isWhole ? unshown : unshownInMessages(store, chat, unshown);
}

/** The same for a log whose older chunks were removed: the messages have what they showed. */
async function unshownInMessages(store: Store, chat: string, rows: readonly Approval[]): Promise<Approval[]> {
  let unshown = [...rows];
  let before: string | undefined;
  do {
    const page = await store.messages(chat, { limit: 50, ...(before !== undefined && { before }) });
    const shown = new Set(page.flatMap(({ message }) => message.parts.flatMap(shownInPart)));
    unshown = unshown.filter((row) => !shown.has(outcomeKey(row)));
    before = page[0]?.message.id;
  } while (unshown.length > 0 && before !== undefined);
  return unshown;
}

/** The outcomes that a part of a stored message shows. */
function shownInPart(part: UIMessage["parts"][number]): string[] {
  if (part.type === "data-approval" && "data" in part) {
    const { approvalId, state } = part.data as ApprovalData;
    return [`${approvalId} ${state}`];
  }
  if (!isToolUIPart(part)) return [];
  if (part.state === "output-error") return [`${part.toolCallId} error`];
  return part.state === "output-available" && !part.preliminary ? [`${part.toolCallId} output`] : [];
}

/**
 * Marks settled rows whose outcome the log shows, so that they are no longer due. Rows that the model was told about are
 * not due anyway. If the process dies before this, the next start finds the rows in the log and marks them.
 */
export async function markShownRows(store: Store, chat: string, ids: Iterable<string>): Promise<void> {
  const found = await Promise.all([...ids].map((id) => store.getApproval(id)));
  const rows = found.flatMap((row) => (row && isSettled(row.state) && !row.told && !row.shown ? [row] : []));
  if (rows.length === 0) return;
  const unshown = new Set((await unshownRows(store, chat, rows)).map(({ id }) => id));
  for (const { id } of rows) if (!unshown.has(id)) await store.markShown(id);
}

/** Names an outcome: by the approval's id, or by the call's for calls that are not gated. */
function outcomeKey({ id, gated, toolCallId, state }: Approval): string {
  return gated ? `${id} ${state}` : `${toolCallId} ${state === "succeeded" ? "output" : "error"}`;
}

/** The outcomes that an entry shows. */
function shownIn(entry: LogEntry): string[] {
  if (entry.kind !== "chunk") return [];
  const { chunk } = entry;
  if (chunk.type === "tool-output-error") return [`${chunk.toolCallId} error`];
  if (chunk.type === "tool-output-available") return chunk.preliminary ? [] : [`${chunk.toolCallId} output`];
  if (chunk.type !== "data-approval") return [];
  const { approvalId, state } = chunk.data as ApprovalData;
  return [`${approvalId} ${state}`];
}
