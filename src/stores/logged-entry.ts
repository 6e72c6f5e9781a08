import type { NewLogEntry } from "./store.ts";

/** An entry as the log has it: the reply of an `end` is stored as a message only. */
export function toLogged(entry: NewLogEntry): NewLogEntry {
  return entry.kind === "end" ? { kind: "end", turn: entry.turn } : entry;
}
