import { BridgeError } from "../protocol/index.ts";
import type { NewLogEntry } from "./store.ts";

/** An entry as the log has it: the reply of an `end` is stored as a message only. */
export function toLogged(entry: NewLogEntry): NewLogEntry {
  return entry.kind === "end" ? { kind: "end", turn: entry.turn } : entry;
}

/** The error for a second end of a turn. It comes from code that has not seen the first end, and has another message. */
export function notOpen(turn: string): BridgeError {
  return new BridgeError("conflict", `Turn ${turn} is not open, so it cannot end.`);
}
