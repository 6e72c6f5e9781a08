import { forbiddenKeys } from "./canonical-json.ts";
import { BridgeError } from "./errors.ts";
import { jsonPath, type PathSegment } from "./json-path.ts";

/** Limits for JSON from clients. The caller limits its size in bytes. */
export interface ParseLimits {
  /** Nested arrays and objects; `[]` is one deep. */
  maxDepth: number;
  /** Object members in the whole text. Default: no limit. */
  maxKeys?: number;
  /** Members of one object. Very many in one object take far longer than in many. Default: no limit. */
  maxObjectKeys?: number;
  /** Objects, lists and what is in them, in the whole text. Default: no limit. */
  maxValues?: number;
  /** Where the text is inside a larger one, for error sentences. Its levels count. Default: it is the whole. */
  at?: readonly PathSegment[];
}

/**
 * JSON.parse for text from clients, in linear time and without recursion. Depth and number of keys are counted in the
 * text, so that a few megabytes of `[` are refused before they are parsed. Keys that reach prototypes are refused, and so
 * are duplicate keys, because each reader may take another one of them.
 */
export function parseJson(text: string, limits: ParseLimits): unknown {
  const written = countMembers(text, limits);
  const value = parse(text);
  // JSON.parse keeps the last of two equal keys, however they were escaped, so the value has fewer keys than the text.
  if (checkKeys(value, limits.at ?? []) !== written)
    throw new BridgeError("invalid", "The JSON has the same key twice in one object.");
  return value;
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** `parseJson` for bytes, which must be UTF-8. */
export function parseJsonBytes(bytes: Uint8Array, limits: ParseLimits): unknown {
  return parseJson(decodeText(bytes), limits);
}

const shortText = 32;

/** Bytes from clients as text. Throws if they are not UTF-8. */
export function decodeText(bytes: Uint8Array): string {
  if (bytes.length <= shortText) {
    // For a few characters, a call of the decoder takes longer than this.
    let text = "";
    for (const byte of bytes) {
      if (byte > 0x7f) break;
      text += String.fromCharCode(byte);
    }
    if (text.length === bytes.length) return text;
  }
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new BridgeError("malformed", "The text is not UTF-8.", { cause });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new BridgeError("malformed", "The text is not valid JSON.", { cause });
  }
}

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** Counts the colons outside strings, one per member. For text that is not JSON the count is wrong, but parsing fails. */
function countMembers(
  text: string,
  { maxDepth, maxKeys = Infinity, maxObjectKeys = Infinity, maxValues = Infinity, at = [] }: ParseLimits,
): number {
  let members = 0;
  let values = 1;
  let depth = at.length;
  /** The members of the objects that are open, by their depth. */
  const open: number[] = [];
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit === quote) {
      index = endOfString(text, index);
    } else if (unit === colon) {
      if (++members > maxKeys) throw new BridgeError("invalid", `The JSON has more than ${maxKeys} keys.`);
      const own = (open[depth] ?? 0) + 1;
      open[depth] = own;
      if (own > maxObjectKeys)
        throw new BridgeError("invalid", `An object in the JSON has more than ${maxObjectKeys} keys.`);
    } else if (unit === comma) {
      if (++values > maxValues) throw tooManyValues(maxValues);
    } else if (unit === openBracket || unit === openBrace) {
      if (++values > maxValues) throw tooManyValues(maxValues);
      open[depth + 1] = 0;
      if (++depth > maxDepth) {
        const within = at.length > 0 ? ` of ${jsonPath(at)}` : "";
        throw new BridgeError(
          "invalid",
          `The JSON is nested deeper than ${maxDepth} levels at character ${index}${within}.`,
        );
      }
    } else if (unit === closeBracket || unit === closeBrace) {
      depth--;
    }
  }
  return members;
}

/** Where the string that begins here ends. A picture is one long string, so its characters are not looked at one by one. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === backslash) escapes++;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
}

function tooManyValues(maxValues: number): BridgeError {
  return new BridgeError("invalid", `The JSON has more than ${maxValues} values.`);
}

type Container = Record<PathSegment, unknown>;

interface Frame {
  container: Container;
  /** The keys of an object; an array has its indices. */
  keys: readonly string[] | undefined;
  size: number;
  position: number;
}

/** Walks the value with an explicit stack and returns the number of members. */
function checkKeys(root: unknown, at: readonly PathSegment[]): number {
  const stack: Frame[] = [];
  let members = 0;
  enter(root);
  for (let frame = stack.at(-1); frame; frame = stack.at(-1)) {
    frame.position++;
    if (frame.position === frame.size) stack.pop();
    else enter(frame.container[segmentOf(frame)]);
  }
  return members;

  function enter(value: unknown): void {
    if (!isContainer(value)) return;
    if (Array.isArray(value)) {
      stack.push({ container: value, keys: undefined, size: value.length, position: -1 });
      return;
    }
    const keys = Object.keys(value);
    const forbidden = keys.find((key) => forbiddenKeys.has(key));
    if (forbidden !== undefined) {
      const path = jsonPath([...at, ...stack.map(segmentOf), forbidden]);
      throw new BridgeError("invalid", `The value at ${path} is under a key that is not allowed.`);
    }
    members += keys.length;
    stack.push({ container: value, keys, size: keys.length, position: -1 });
  }
}

function isContainer(value: unknown): value is Container {
  return typeof value === "object" && value !== null;
}

function segmentOf({ keys, position }: Frame): PathSegment {
  return keys?.[position] ?? position;
}
