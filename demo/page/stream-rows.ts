import type { TapEntry } from "./stream-tap.ts";

/** What the filter of the inspector can show. */
export type RowKind = "text" | "tools" | "approvals" | "wire";

/** A line of the inspector. */
export interface StreamRow {
  key: string;
  at: number;
  /** Milliseconds since the request, the frame or the turn before it. */
  sinceMs: number | undefined;
  kind: RowKind;
  entry: TapEntry;
  /** The entries in this line: more than one if deltas are folded. */
  entries: readonly TapEntry[];
  /** The approval that the line is about. */
  approvalId: string | undefined;
}

/** The lines for the recorded entries. With `fold`, the deltas of one part that follow each other are one line. */
export function streamRows(entries: readonly TapEntry[], { fold }: { fold: boolean }): StreamRow[] {
  const approvals = approvalOfCall(entries);
  const rows: (StreamRow & { entries: TapEntry[] })[] = [];
  let startedAt: number | undefined;
  for (const entry of entries) {
    if (entry.kind === "request" || entry.kind === "frame" || entry.kind === "begin") startedAt = entry.at;
    const last = rows.at(-1);
    if (fold && last && isSameDelta(last.entry, entry)) {
      last.entries.push(entry);
      continue;
    }
    const sinceMs = startedAt === undefined ? undefined : entry.at - startedAt;
    const approvalId = entry.kind === "chunk" ? approvalOf(entry.chunk, approvals) : undefined;
    rows.push({
      key: String(entry.key),
      at: entry.at,
      sinceMs,
      kind: kindOf(entry),
      entry,
      entries: [entry],
      approvalId,
    });
  }
  return rows;
}

/** The text of folded deltas, whole. */
export function foldedText(entries: readonly TapEntry[]): string {
  return entries.map((entry) => (entry.kind === "chunk" ? (deltaOf(entry.chunk) ?? "") : "")).join("");
}

/** What a line shows when it is opened, and what is copied. */
export function rowDetail({ entry, entries }: Pick<StreamRow, "entry" | "entries">): unknown {
  switch (entry.kind) {
    case "chunk":
      if (entries.length === 1) return entry.chunk;
      return { type: entry.type, id: entry.chunk["id"], deltas: entries.length, text: foldedText(entries) };
    case "request":
      return { request: `${entry.method} ${entry.path}`, ...(entry.body !== undefined && { body: entry.body }) };
    case "frame":
      return entry.body ?? { type: entry.type };
    case "begin":
      return { turn: entry.turn, ...(entry.message !== undefined && { message: entry.message }) };
    default:
      return { [entry.kind]: entry.kind === "socket" ? entry.event : true };
  }
}

function deltaOf(chunk: Record<string, unknown>): string | undefined {
  const delta = chunk["delta"] ?? chunk["inputTextDelta"];
  return typeof delta === "string" ? delta : undefined;
}

function isSameDelta(one: TapEntry, other: TapEntry): boolean {
  if (one.kind !== "chunk" || other.kind !== "chunk" || one.type !== other.type) return false;
  if (!one.type.endsWith("-delta") || deltaOf(other.chunk) === undefined) return false;
  return one.chunk["id"] === other.chunk["id"] && one.chunk["toolCallId"] === other.chunk["toolCallId"];
}

function kindOf(entry: TapEntry): RowKind {
  if (entry.kind !== "chunk") return "wire";
  const { type } = entry;
  if (type.startsWith("text-") || type.startsWith("reasoning-")) return "text";
  if (type.includes("approval")) return "approvals";
  return type.startsWith("tool-") ? "tools" : "wire";
}

/** The approvals by the ids of their calls: most chunks of a call name only the call. */
function approvalOfCall(entries: readonly TapEntry[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const entry of entries) {
    if (entry.kind !== "chunk") continue;
    const named = Object(entry.type === "data-approval" ? entry.chunk["data"] : entry.chunk) as Record<string, unknown>;
    const { toolCallId, approvalId } = named;
    if (typeof toolCallId === "string" && typeof approvalId === "string") found.set(toolCallId, approvalId);
  }
  return found;
}

function approvalOf(chunk: Record<string, unknown>, approvals: ReadonlyMap<string, string>): string | undefined {
  if (chunk["type"] === "data-approval") {
    const { approvalId } = Object(chunk["data"]) as { approvalId?: unknown };
    return typeof approvalId === "string" ? approvalId : undefined;
  }
  if (typeof chunk["approvalId"] === "string") return chunk["approvalId"];
  return typeof chunk["toolCallId"] === "string" ? approvals.get(chunk["toolCallId"]) : undefined;
}
