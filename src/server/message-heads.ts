import { type ByteRange, type JsonScanner, openBrace } from "../protocol/json-scanner.ts";
import { decodeText } from "../protocol/parse-json.ts";
import type { MessageList } from "./chat-outline.ts";

/** The id and the role of a message, whatever else is in it. */
export interface MessageHead {
  id?: string;
  role?: Role;
}

const roles = ["user", "assistant", "system", "tool"] as const;
type Role = (typeof roles)[number];

/** The longest id, and the most bytes that JSON needs for it. */
const longestId = 256;
const longestIdBytes = longestId * 6 + 2;

/** Reads the head of the message at a place of the text; undefined if there is no object. */
export function* messageHead(scanner: JsonScanner, start: number): Generator<undefined, MessageHead | undefined> {
  scanner.moveTo(start);
  const { id, role } = yield* headRanges(scanner);
  if (scanner.bytes[start] !== openBrace) return undefined;
  const name = id && textAt(scanner.bytes, id);
  const known = role && scanner.nameAt(role, roles);
  return { ...(name !== undefined && name !== "" && { id: name }), ...(known && { role: known }) };
}

/** The first assistant message of a list with an id. */
export function* findAssistantMessage(
  scanner: JsonScanner,
  list: MessageList,
  id: string,
): Generator<undefined, { index: number; range: ByteRange } | undefined> {
  if (id === "") return undefined;
  const wanted = new TextEncoder().encode(id);
  scanner.moveTo(list.start);
  for (const index of scanner.elements()) {
    if (index === undefined) {
      yield;
      continue;
    }
    const start = scanner.at;
    const head = yield* headRanges(scanner);
    const isIt =
      head.id !== undefined &&
      head.role !== undefined &&
      scanner.nameAt(head.role, ["assistant"]) === "assistant" &&
      isText(scanner.bytes, head.id, wanted, id);
    if (isIt) return { index, range: { start, end: scanner.at } };
  }
  return undefined;
}

/** Steps over the message that begins here, and finds its id and role. Of two fields with one name the last counts. */
function* headRanges(scanner: JsonScanner): Generator<undefined, { id?: ByteRange; role?: ByteRange }> {
  const found: { id?: ByteRange; role?: ByteRange } = {};
  if (scanner.firstByte() !== openBrace) {
    while (!scanner.skipValue()) yield;
    return found;
  }
  for (const name of scanner.members(["id", "role"])) {
    if (name === undefined) {
      yield;
      continue;
    }
    const start = scanner.at;
    while (!scanner.skipValue()) yield;
    found[name] = { start, end: scanner.at };
  }
  return found;
}

/** Compares a string of the text without decoding it, if it has no escapes. */
function isText(bytes: Uint8Array, range: ByteRange, wanted: Uint8Array, text: string): boolean {
  const length = range.end - range.start - 2;
  if (length > wanted.length * 6 || bytes[range.start] !== 0x22) return false;
  const raw = bytes.subarray(range.start + 1, range.end - 1);
  if (!raw.includes(0x5c) && (length !== wanted.length || raw.some((byte, index) => byte !== wanted[index])))
    return false;
  return textAt(bytes, range) === text;
}

/** A string of the text; undefined if it is not one, or longer than an id may be. */
function textAt(bytes: Uint8Array, { start, end }: ByteRange): string | undefined {
  if (bytes[start] !== 0x22 || end - start > longestIdBytes) return undefined;
  try {
    const text = JSON.parse(decodeText(bytes.subarray(start, end))) as string;
    return text.length <= longestId ? text : undefined;
  } catch {
    return undefined;
  }
}
