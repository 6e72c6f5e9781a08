import type { UIMessage, UIMessageChunk } from "ai";
import type { TapEntry } from "./stream-tap.ts";

/** One entry of a chat's log, as the server stores it. */
export type LogLine = { sequence: number; at: number; turn: string } & (
  | { kind: "begin"; reply: string; message?: UIMessage }
  | { kind: "chunk"; chunk: UIMessageChunk }
  | { kind: "withdraw"; from: number }
  | { kind: "end" }
);

/** A log that was downloaded, or the reason why a file is not one. */
export type ReadLog =
  | { chat: string; savedAt: number; lines: LogLine[]; /** How many lines could not be read. */ skipped: number }
  | { error: "large" | "format" | "version" | "empty" };

/** The largest file that is read. */
export const maxLogBytes = 32 * 1024 * 1024;

/** Reads a log in JSON lines. The file may come from anyone, so each line is checked and lines of other kinds are skipped. */
export function readLog(text: string): ReadLog {
  if (text.length > maxLogBytes) return { error: "large" };
  const [first = "", ...rest] = text.split("\n");
  const head = parse(first);
  if (head?.["format"] !== "adk-stream-protocol/log") return { error: "format" };
  if (head["version"] !== 1) return { error: "version" };
  const lines: LogLine[] = [];
  let skipped = 0;
  for (const line of rest) {
    if (line.trim() === "") continue;
    const read = toLine(parse(line));
    if (read && read.sequence > (lines.at(-1)?.sequence ?? 0)) lines.push(read);
    else skipped += 1;
  }
  if (lines.length === 0) return { error: "empty" };
  const { chat, savedAt } = head;
  return {
    chat: typeof chat === "string" ? chat : "",
    savedAt: typeof savedAt === "number" ? savedAt : 0,
    lines,
    skipped,
  };
}

/** The lines of a log as the stream inspector shows them. */
export function logToEntries(lines: readonly LogLine[]): TapEntry[] {
  return lines.flatMap((line): TapEntry[] => {
    // Entries of the tap count from 0, so those of the log have negative keys.
    const common = { key: -line.sequence, at: line.at, sequence: line.sequence };
    if (line.kind === "begin") return [{ ...common, kind: "begin", turn: line.turn, message: line.message }];
    if (line.kind === "withdraw") return [{ ...common, kind: "withdraw" }];
    if (line.kind === "end") return [];
    return [
      { ...common, kind: "chunk", type: line.chunk.type, chunk: line.chunk as unknown as Record<string, unknown> },
    ];
  });
}

function toLine(value: Record<string, unknown> | undefined): LogLine | undefined {
  if (!value || !Number.isSafeInteger(value["sequence"]) || !Number.isFinite(value["at"])) return undefined;
  if (typeof value["turn"] !== "string") return undefined;
  const common = { sequence: Number(value["sequence"]), at: Number(value["at"]), turn: value["turn"] };
  switch (value["kind"]) {
    case "begin": {
      if (typeof value["reply"] !== "string") return undefined;
      const message = toMessage(value["message"]);
      return { ...common, kind: "begin", reply: value["reply"], ...(message && { message }) };
    }
    case "chunk": {
      const chunk = toObject(value["chunk"]);
      if (typeof chunk?.["type"] !== "string") return undefined;
      return { ...common, kind: "chunk", chunk: chunk as unknown as UIMessageChunk };
    }
    case "withdraw":
      return Number.isSafeInteger(value["from"])
        ? { ...common, kind: "withdraw", from: Number(value["from"]) }
        : undefined;
    case "end":
      return { ...common, kind: "end" };
    default:
      return undefined;
  }
}

function toMessage(value: unknown): UIMessage | undefined {
  const message = toObject(value);
  if (typeof message?.["id"] !== "string" || message["role"] !== "user" || !Array.isArray(message["parts"]))
    return undefined;
  const parts = message["parts"].filter((part) => typeof toObject(part)?.["type"] === "string") as UIMessage["parts"];
  return { id: message["id"], role: "user", parts };
}

function toObject(value: unknown): Record<string, unknown> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    return toObject(JSON.parse(line));
  } catch {
    return undefined;
  }
}
