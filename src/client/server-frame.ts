import type { UIMessageChunk } from "ai";
import type { ControlFrame } from "../protocol/frames.ts";

/**
 * What the server sends on the chat wire to a socket with `?sequence=1`. `sequence` is the number of an entry of the
 * chat's log; if one entry became several chunks, the last one has the number.
 */
export type ServerFrame =
  | { type: "chunk"; chunk: UIMessageChunk; sequence: number | undefined }
  | { type: "done" }
  | ControlFrame;

/** The fields that a frame must have: `sequence` is a number, the others are text. */
const fields: Record<ControlFrame["type"], readonly string[]> = {
  turn: ["turn", "reply", "sequence"],
  parked: ["turn", "sequence"],
  withdrawn: ["from", "sequence"],
  accepted: ["requestId", "turn"],
  refused: ["requestId", "code", "message"],
  attached: ["id", "sequence"],
  deleted: ["id"],
  pong: [],
};

/**
 * Parses one text frame of the server: a server-sent event for chunks and `[DONE]`, JSON for everything else. Returns
 * undefined for frames that only a newer server sends; throws for a text that is not a frame.
 */
export function parseServerFrame(text: string): ServerFrame | undefined {
  return text.startsWith("{") ? parseControl(text) : parseEvent(text);
}

/** The server writes an event with one line for each field. */
function parseEvent(text: string): ServerFrame | undefined {
  if (!/^[a-z]*:/.test(text)) throw new Error("A frame of the server is neither an event nor JSON.");
  const valueOf = (field: string) =>
    text
      .split("\n")
      .find((line) => line.startsWith(field))
      ?.slice(field.length);
  const data = valueOf("data: ");
  if (data === undefined) return undefined;
  if (data === "[DONE]") return { type: "done" };
  const chunk = JSON.parse(data) as UIMessageChunk;
  if (typeof chunk.type !== "string") throw new Error("An event of the server is not a chunk.");
  const id = valueOf("id: ") ?? "";
  return { type: "chunk", chunk, sequence: /^\d{1,15}$/.test(id) ? Number(id) : undefined };
}

function parseControl(text: string): ServerFrame | undefined {
  const frame = JSON.parse(text) as ControlFrame & Record<string, unknown>;
  const needed = fields[frame.type] as readonly string[] | undefined;
  const isThere = (key: string) =>
    key === "sequence" ? Number.isSafeInteger(frame[key]) : typeof frame[key] === "string";
  const missing = needed?.find((key) => !isThere(key));
  if (missing !== undefined) throw new Error(`A ${frame.type} frame of the server lacks its ${missing}.`);
  return needed && frame;
}
