import type { UIMessageChunk } from "ai";
import type { ErrorCode } from "../protocol/errors.ts";
import type { ControlFrame } from "../protocol/frames.ts";
import { parseSseEvent } from "../protocol/sse.ts";

/**
 * What the server sends on the chat wire to a socket with `?sequence=1`. `sequence` is the number of an entry of the
 * chat's log; if one entry became several chunks, the last one has the number.
 */
export type ServerFrame =
  | { type: "chunk"; chunk: UIMessageChunk; sequence: number | undefined }
  | { type: "done" }
  | ControlFrame;

/**
 * Parses one text frame of the server: a server-sent event for chunks and `[DONE]`, JSON for everything else. Returns
 * undefined for frames that only a newer server sends; throws for a text that is not a frame.
 */
export function parseServerFrame(text: string): ServerFrame | undefined {
  return text.startsWith("{") ? parseControl(text) : parseEvent(text);
}

function parseEvent(text: string): ServerFrame | undefined {
  if (!/^[a-z]*:/.test(text)) throw new Error("A frame of the server is neither an event nor JSON.");
  const { data, id = "" } = parseSseEvent(text) ?? {};
  if (data === undefined) return undefined;
  if (data === "[DONE]") return { type: "done" };
  const chunk: unknown = JSON.parse(data);
  if (!isObject(chunk) || typeof chunk["type"] !== "string") throw new Error("An event of the server is not a chunk.");
  return { type: "chunk", chunk: chunk as UIMessageChunk, sequence: /^\d{1,15}$/.test(id) ? Number(id) : undefined };
}

function parseControl(text: string): ServerFrame | undefined {
  const frame: unknown = JSON.parse(text);
  if (!isObject(frame)) throw new Error("A frame of the server is not an object.");
  const word = (key: string) => need(frame, key, isString);
  const sequence = () => need(frame, "sequence", isSequence);
  switch (frame["type"]) {
    case "turn":
      return { type: "turn", turn: word("turn"), reply: word("reply"), sequence: sequence() };
    case "parked":
      return { type: "parked", turn: word("turn"), sequence: sequence() };
    case "withdrawn":
      return { type: "withdrawn", from: word("from"), sequence: sequence() };
    case "accepted":
      return { type: "accepted", requestId: word("requestId"), turn: word("turn") };
    case "refused": {
      const code = word("code") as ErrorCode;
      const { retryAfter } = frame;
      const retry = typeof retryAfter === "number" && retryAfter >= 0 ? { retryAfter } : {};
      return { type: "refused", requestId: word("requestId"), code, message: word("message"), ...retry };
    }
    case "attached":
      return { type: "attached", id: word("id"), sequence: sequence(), running: frame["running"] === true };
    case "deleted":
      return { type: "deleted", id: word("id") };
    case "pong":
      return { type: "pong", timestamp: Number(frame["timestamp"]) };
    default:
      return undefined;
  }
}

function need<T>(frame: Record<string, unknown>, key: string, isRight: (value: unknown) => value is T): T {
  const value = frame[key];
  if (!isRight(value)) throw new Error(`A ${String(frame["type"])} frame of the server lacks its ${key}.`);
  return value;
}

const isString = (value: unknown): value is string => typeof value === "string";
const isSequence = (value: unknown): value is number => Number.isSafeInteger(value);

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
