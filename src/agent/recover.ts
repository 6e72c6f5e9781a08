import type { UIMessageChunk } from "ai";
import { isSettled } from "../protocol/index.ts";
import type { Approval, LogEntry, NewLogEntry, Store } from "../stores/index.ts";
import { dataApproval } from "./outcome.ts";

/**
 * Ends in the log what a crash left open, so that readers see a whole chat. A question that was held but not yet shown is
 * shown now, with the same id. A continuation that was cut off takes back its unfinished step and will be run again;
 * returns those chats with the message to continue. A reply to plain text says that it was cut off: the person may not
 * want it any more.
 */
export async function closeOpenTurns(store: Store): Promise<Map<string, string>> {
  const interrupted = new Map<string, string>();
  for (const { chat, turn, sequence } of await store.openTurns()) {
    const log = await store.read(chat);
    const begin = log.find((entry) => entry.turn === turn && entry.kind === "begin");
    if (begin?.kind !== "begin") continue;
    const { reply } = begin;
    const step = openStepOf(log.filter((entry) => entry.turn === turn && entry.sequence >= sequence));
    const shown = new Set(log.flatMap((entry) => (isChunk(entry, "tool-approval-request") ? [entry.chunk.approvalId] : [])));
    const rows = (await store.listApprovals({ chat })).filter((row) => row.messageId === reply && !isSettled(row.state));
    const continues = log.some((entry) => entry.kind === "begin" && entry.reply === reply && entry.sequence < sequence);

    const entries: NewLogEntry[] = [];
    const write = (...chunks: UIMessageChunk[]) => entries.push(...chunks.map((chunk) => ({ turn, kind: "chunk" as const, chunk })));
    if (rows.length > 0) {
      if (step?.part) write(step.part);
      write(...rows.filter((row) => row.gated && !shown.has(row.id)).flatMap(question));
      if (step) write({ type: "finish-step" });
      write({ type: "finish", finishReason: "tool-calls" });
    } else if (continues) {
      if (step) entries.push({ turn, kind: "withdraw", from: step.sequence });
      interrupted.set(chat, reply);
    } else {
      if (step?.part) write(step.part);
      if (step) write({ type: "finish-step" });
      write({ type: "error", errorText: "The server stopped in the middle of this reply. Please send your message again." });
    }
    await store.append(chat, [...entries, { turn, kind: "end" }]);
  }
  return interrupted;
}

function question(row: Approval): UIMessageChunk[] {
  return [{ type: "tool-approval-request", approvalId: row.id, toolCallId: row.toolCallId }, ...dataApproval(row)];
}

/** Where the last step began that has not ended, and what would close the text open in it. */
function openStepOf(entries: readonly LogEntry[]): { sequence: number; part?: UIMessageChunk } | undefined {
  let step: { sequence: number; part?: UIMessageChunk } | undefined;
  for (const entry of entries) {
    if (entry.kind !== "chunk") continue;
    const { chunk, sequence } = entry;
    if (chunk.type === "start-step") step = { sequence };
    else if (chunk.type === "finish-step") step = undefined;
    else if (step && chunk.type === "text-start") step.part = { type: "text-end", id: chunk.id };
    else if (step && chunk.type === "reasoning-start") step.part = { type: "reasoning-end", id: chunk.id };
    else if (step && (chunk.type === "text-end" || chunk.type === "reasoning-end")) delete step.part;
  }
  return step;
}

function isChunk<T extends UIMessageChunk["type"]>(
  entry: LogEntry,
  type: T,
): entry is LogEntry & { kind: "chunk"; chunk: Extract<UIMessageChunk, { type: T }> } {
  return entry.kind === "chunk" && entry.chunk.type === type;
}
