import type { UIMessage, UIMessageChunk } from "ai";
import type { DatabaseSync } from "node:sqlite";
import { foldMessage } from "../protocol/index.ts";
import type { LogEntry, NewLogEntry } from "./log-store.ts";

/**
 * Fills the table `message` from the logs of a database that has none yet. A turn that has not ended is left out: it is
 * stored when it ends. Call it inside the transaction that creates the table.
 */
export function foldLogs(db: DatabaseSync): void {
  const save = db.prepare("INSERT INTO message (chat, id, sequence, role, at, message) VALUES (?, ?, ?, ?, ?, ?)");
  const read = db.prepare("SELECT sequence, at, entry FROM log WHERE chat = ? ORDER BY sequence");
  for (const { id } of db.prepare("SELECT id FROM session WHERE chat = id").all()) {
    const chat = String(id);
    const entries = read.all(chat).map(({ entry, sequence, at }): LogEntry => ({
      ...(JSON.parse(String(entry)) as NewLogEntry),
      ...{ sequence: Number(sequence), at: Number(at) },
    }));
    // A chunk that does not fit must not keep the whole database from opening.
    for (const { message, sequence, at } of foldLog(entries, () => undefined))
      save.run(chat, message.id, sequence, message.role, at, JSON.stringify(message));
  }
}

interface Turn {
  begin: LogEntry & { kind: "begin" };
  chunks: UIMessageChunk[];
  endedAt?: number;
}

/** The messages of a log, in order. Chunks that do not fit are passed to `onError` and left out. */
export function foldLog(
  entries: readonly LogEntry[],
  onError: (error: unknown) => void,
): { message: UIMessage; sequence: number; at: number }[] {
  const withdrawn = entries.flatMap((entry) =>
    entry.kind === "withdraw" ? [{ from: entry.from, until: entry.sequence }] : [],
  );
  const turns = new Map<string, Turn>();
  for (const entry of entries) {
    if (withdrawn.some(({ from, until }) => from <= entry.sequence && entry.sequence < until)) continue;
    const turn = turns.get(entry.turn);
    if (entry.kind === "begin") turns.set(entry.turn, { begin: entry, chunks: [] });
    else if (entry.kind === "chunk") turn?.chunks.push(entry.chunk);
    else if (entry.kind === "end" && turn) turn.endedAt = entry.at;
  }
  const messages = new Map<string, { message: UIMessage; sequence: number; at: number }>();
  for (const { begin, chunks, endedAt } of turns.values()) {
    if (begin.message)
      messages.set(begin.message.id, { message: begin.message, sequence: begin.sequence, at: begin.at });
    if (endedAt === undefined) continue;
    const earlier = messages.get(begin.reply);
    const message = foldMessage(begin.reply, chunks, { message: earlier?.message, onError });
    if (message) messages.set(begin.reply, { message, sequence: earlier?.sequence ?? begin.sequence + 1, at: endedAt });
  }
  return [...messages.values()];
}
