import type { UIMessage } from "ai";
import type { DatabaseSync } from "node:sqlite";
import { foldMessage, titleOf } from "../protocol/index.ts";
import type { LogEntry, NewLogEntry } from "./log-store.ts";

/**
 * Fills the tables `message` and `endedTurn` from the logs of a database that has none yet, and gives chats a title. A turn that has not ended is left out: it is
 * stored when it ends. Call it inside the transaction that creates the table.
 */
export function foldLogs(db: DatabaseSync): void {
  const save = db.prepare("INSERT INTO message (chat, id, sequence, role, at, message) VALUES (?, ?, ?, ?, ?, ?)");
  const title = db.prepare("UPDATE session SET title = ? WHERE id = ?");
  const end = db.prepare(
    `INSERT INTO endedTurn (chat, turn, sequence, last, at, appName)
     VALUES (?1, ?2, ?3, ?4, ?5, (SELECT appName FROM session WHERE id = ?1))`,
  );
  const read = db.prepare("SELECT sequence, at, entry FROM log WHERE chat = ? ORDER BY sequence");
  for (const { id } of db.prepare("SELECT id FROM session WHERE chat = id").all()) {
    const chat = String(id);
    const entries = read.all(chat).map(({ entry, sequence, at }): LogEntry => ({
      ...(JSON.parse(String(entry)) as NewLogEntry),
      ...{ sequence: Number(sequence), at: Number(at) },
    }));
    for (const { turn, sequence, last, at } of endedTurns(entries)) end.run(chat, turn, sequence, last, at);
    // A chunk that does not fit must not keep the whole database from opening.
    const messages = foldLog(entries, () => undefined);
    for (const { message, sequence, at } of messages)
      save.run(chat, message.id, sequence, message.role, at, JSON.stringify(message));
    const first = messages.find(({ message }) => message.role === "user");
    const words = first && titleOf(first.message);
    if (words) title.run(words, chat);
  }
}

/** The turns that have ended, each with the numbers of its first and last entry. */
function endedTurns(entries: readonly LogEntry[]): { turn: string; sequence: number; last: number; at: number }[] {
  const begun = new Map<string, number>();
  return entries.flatMap(({ kind, turn, sequence: last, at }) => {
    if (kind === "begin" && !begun.has(turn)) begun.set(turn, last);
    const sequence = begun.get(turn);
    if (kind !== "end" || sequence === undefined) return [];
    begun.delete(turn);
    return [{ turn, sequence, last, at }];
  });
}

interface Turn {
  begin: LogEntry & { kind: "begin" };
  /** Where its message is: after the beginning of the message's first turn. */
  place: number;
  chunks: (LogEntry & { kind: "chunk" })[];
  endedAt?: number;
}

/** The messages of a log, in order. Chunks that do not fit are passed to `onError` and left out. */
export function foldLog(
  entries: readonly LogEntry[],
  onError: (error: unknown) => void,
): { message: UIMessage; sequence: number; at: number }[] {
  const messages = new Map<string, { message: UIMessage; sequence: number; at: number }>();
  for (const { begin, place, chunks, endedAt } of keptTurns(entries)) {
    if (begin.message)
      messages.set(begin.message.id, { message: begin.message, sequence: begin.sequence, at: begin.at });
    if (endedAt === undefined) continue;
    const earlier = messages.get(begin.reply)?.message;
    const message = foldMessage(
      begin.reply,
      chunks.map(({ chunk }) => chunk),
      { message: earlier, onError },
    );
    if (message) messages.set(begin.reply, { message, sequence: place, at: endedAt });
  }
  return [...messages.values()];
}

/** The turns of a log, without what was withdrawn. */
function keptTurns(entries: readonly LogEntry[]): Turn[] {
  const turns = new Map<string, Turn>();
  for (const entry of entries) {
    const turn = turns.get(entry.turn);
    if (entry.kind === "begin") {
      const first = [...turns.values()].find(({ begin }) => begin.reply === entry.reply);
      turns.set(entry.turn, { begin: entry, place: first?.place ?? entry.sequence + 1, chunks: [] });
    } else if (entry.kind === "chunk") turn?.chunks.push(entry);
    else if (entry.kind === "end" && turn) turn.endedAt = entry.at;
    else if (entry.kind === "withdraw") withdraw(turns, entry.from);
  }
  return [...turns.values()];
}

/** What a later turn has shown of a message that stays, such as the outcome of an older call, stays too. */
function withdraw(turns: Map<string, Turn>, from: number): void {
  for (const [id, turn] of turns)
    if (turn.begin.sequence < from) turn.chunks = turn.chunks.filter(({ sequence }) => sequence < from);
    else if (turn.place >= from) turns.delete(id);
}
