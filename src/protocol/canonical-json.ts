import { BridgeError } from "./errors.ts";
import { jsonPath, type PathSegment } from "./json-path.ts";

/** Limits of a value. Each is checked before the work it bounds is done. */
export interface JsonLimits {
  /** UTF-8 bytes of the canonical text. */
  maxBytes: number;
  /** Nested arrays and objects; `[]` is one deep. The writer recurses this far, so keep it small. */
  maxDepth: number;
  /** Object members in the whole value. */
  maxKeys: number;
}

/** The limits for the arguments of a tool call, a decision and a digest. */
export const defaultJsonLimits: Readonly<JsonLimits> = { maxBytes: 64 * 1024, maxDepth: 32, maxKeys: 1_000 };

/** Keys that reach an object's prototype in careless code. */
export const forbiddenKeys: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

/**
 * The canonical text of a JSON value (RFC 8785), so that equal digests mean equal values and what was shown is what runs.
 *
 * It accepts less than JSON.stringify does. Values that JSON.stringify would drop, round or convert could give two
 * different values the same text; they are refused with their path. That includes integers past 2^53, which RFC 8785
 * would print but another reader of the same JSON may round differently.
 */
export function canonicalJson(value: unknown, limits: Partial<JsonLimits> = {}): string {
  const maxBytes = limits.maxBytes ?? defaultJsonLimits.maxBytes;
  const maxDepth = limits.maxDepth ?? defaultJsonLimits.maxDepth;
  const maxKeys = limits.maxKeys ?? defaultJsonLimits.maxKeys;
  const path: PathSegment[] = [];
  const pieces: string[] = [];
  let length = 0;
  let keyCount = 0;

  write(value);
  const text = pieces.join("");
  if (new TextEncoder().encode(text).length > maxBytes) refuseSize();
  return text;

  function write(item: unknown): void {
    switch (typeof item) {
      case "string":
        return writeString(item);
      case "number":
        return writeNumber(item);
      case "boolean":
        return emit(String(item));
      case "object":
        if (item === null) return emit("null");
        if (path.length >= maxDepth) refuse(`is nested deeper than ${maxDepth} levels`);
        return Array.isArray(item) ? writeArray(item) : writeObject(item);
      default:
        refuse(`is of type ${typeof item}, which JSON cannot hold`);
    }
  }

  function writeString(string: string): void {
    if (string.length > maxBytes) refuseSize();
    if (hasLoneSurrogate(string)) refuse("holds half of a surrogate pair");
    emit(JSON.stringify(string));
  }

  function writeNumber(number: number): void {
    if (!Number.isFinite(number)) refuse("is not a finite number");
    if (Number.isInteger(number) && !Number.isSafeInteger(number)) {
      refuse("is an integer beyond 2^53 - 1, which is not exact; send it as a string");
    }
    emit(JSON.stringify(number));
  }

  function writeArray(array: readonly unknown[]): void {
    if (Object.getPrototypeOf(array) !== Array.prototype) refuse("is not a plain array");
    if (2 * array.length + 1 > maxBytes) refuseSize();
    // One own property per index, and `length`. Every index is checked below, so there can be no other property.
    if (Reflect.ownKeys(array).length !== array.length + 1) refuse("is an array with holes or extra properties");
    emit("[");
    for (let index = 0; index < array.length; index++) {
      if (index > 0) emit(",");
      path.push(index);
      write(memberOf(array, index));
      path.pop();
    }
    emit("]");
  }

  function writeObject(object: object): void {
    const prototype: unknown = Object.getPrototypeOf(object);
    if (prototype !== Object.prototype && prototype !== null) refuse("is not a plain object");
    const keys = Reflect.ownKeys(object);
    keyCount += keys.length;
    if (keyCount > maxKeys) refuse(`makes the number of keys larger than ${maxKeys}`);
    emit("{");
    // Without a comparator, sorting compares UTF-16 code units, which is the order RFC 8785 asks for.
    for (const [position, key] of keys.map(checkedKey).toSorted().entries()) {
      if (position > 0) emit(",");
      path.push(key);
      writeString(key);
      emit(":");
      write(memberOf(object, key));
      path.pop();
    }
    emit("}");
  }

  function checkedKey(key: string | symbol): string {
    if (typeof key === "symbol") return refuse("has a symbol as a key");
    if (forbiddenKeys.has(key)) {
      path.push(key);
      refuse("is under a key that is not allowed");
    }
    return key;
  }

  /** Refuses getters, which could return another value the next time, and hidden members, which JSON leaves out. */
  function memberOf(container: object, key: PathSegment): unknown {
    const member = Object.getOwnPropertyDescriptor(container, key);
    if (!member || !member.enumerable || !("value" in member)) return refuse("is missing, hidden or a getter");
    return member.value;
  }

  /** Counts UTF-16 units, of which there are never more than bytes, to stop early. The bytes are counted at the end. */
  function emit(piece: string): void {
    length += piece.length;
    if (length > maxBytes) refuseSize();
    pieces.push(piece);
  }

  function refuseSize(): never {
    return refuse(`makes the text longer than ${maxBytes} bytes`);
  }

  function refuse(problem: string): never {
    throw new BridgeError("invalid", `The value at ${jsonPath(path)} ${problem}.`);
  }
}

function hasLoneSurrogate(text: string): boolean {
  return /\p{Surrogate}/u.test(text);
}
