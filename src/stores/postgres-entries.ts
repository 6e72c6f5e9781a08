import { toLogged } from "./logged-entry.ts";
import type { LogEntry, NewLogEntry } from "./store.ts";

/** An entry as a row of the table `log`. The turn has a column, so it is not in the text. */
export interface EntryRow {
  turn: string;
  /** False for chunks that may be removed when their turn is over for a while. */
  kept: boolean;
  text: string;
  /** True for the beginning and the end of a turn, which change the chat's place in the list of chats. */
  isEdge: boolean;
}

/** The chunks that say how a turn ended. */
const lastChunks: ReadonlySet<string> = new Set(["finish", "error", "abort"]);

export function toEntryRow(entry: NewLogEntry): EntryRow {
  const { turn, ...rest } = toLogged(entry);
  const kept = entry.kind !== "chunk" || lastChunks.has(entry.chunk.type);
  const isEdge = entry.kind === "begin" || entry.kind === "end";
  return { turn, kept, isEdge, text: JSON.stringify(rest) };
}

export function toLogEntry({ turn, text }: Pick<EntryRow, "turn" | "text">, sequence: number, at: number): LogEntry {
  return { turn, ...(JSON.parse(text) as Omit<NewLogEntry, "turn">), sequence, at } as LogEntry;
}

/** True if the log has these rows at the beginning of those that were read from it. */
export function beginsWith(there: readonly EntryRow[], rows: readonly EntryRow[]): boolean {
  return rows.every(({ turn, text }, index) => there[index]?.turn === turn && there[index]?.text === text);
}
