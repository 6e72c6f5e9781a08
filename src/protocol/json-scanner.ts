import { BridgeError } from "./errors.ts";
import { decodeText } from "./parse-json.ts";

/** A part of a text, by its first byte and the byte after its last. */
export interface ByteRange {
  start: number;
  end: number;
}

/** What `peek` returns instead of a byte: the slice is used up. */
const paused = -1;
/** What `peek` returns at the end of the text. */
const ended = -2;

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const backslash = 0x5c;
export const openBracket = 0x5b;
const closeBracket = 0x5d;
export const openBrace = 0x7b;
const closeBrace = 0x7d;

/** What other steps cost, in bytes that could be scanned in the same time. */
const memberCost = 64;
const elementCost = 16;
export const parseCost = 256;

/**
 * Walks through JSON text in UTF-8 without making values of it. It stops after a slice of bytes, so that a long text
 * does not hold the event loop: the generators here yield `undefined` at each stop, and the caller lets other work run
 * before it goes on.
 *
 * The levels that a caller walks (`members`, `elements`) must be JSON. A value that is stepped over must only be
 * balanced: its brackets are counted and its strings are closed. A caller that keeps a value parses it.
 */
export class JsonScanner {
  readonly bytes: Uint8Array;
  /** The next byte to read. */
  at = 0;
  readonly #sliceBytes: number;
  /** Where this slice ends. It may be after the end of the text. */
  #sliceEnd: number;
  // Where the scanner is inside a value that did not end in its slice.
  #braces = 0;
  #brackets = 0;
  #inString = false;
  #inValue = false;

  constructor(bytes: Uint8Array, { sliceBytes }: { sliceBytes: number }) {
    this.bytes = bytes;
    this.#sliceBytes = sliceBytes;
    this.#sliceEnd = sliceBytes;
  }

  /** Begins the next slice. */
  nextSlice(): void {
    this.#sliceEnd = this.at + this.#sliceBytes;
  }

  /** Makes this slice shorter, for work that takes as long as scanning some bytes. */
  charge(bytes: number): void {
    this.#sliceEnd = Math.max(this.at, this.#sliceEnd - bytes);
  }

  /** Begins to read at another place of the text. */
  moveTo(at: number): void {
    this.at = at;
    this.#sliceEnd = Math.min(this.#sliceEnd, at + this.#sliceBytes);
  }

  /** Steps over the value that begins here, and returns where it is. */
  *value(): Generator<undefined, ByteRange> {
    const start = this.at;
    while (!this.skipValue()) yield;
    return { start, end: this.at };
  }

  /** The first byte of the value that begins here. */
  firstByte(): number {
    return this.bytes[this.at] ?? ended;
  }

  /**
   * The members of the object that begins here whose names are in `names`: yields the name, with the scanner at the
   * member's value. The caller steps over the value before it asks for the next member.
   */
  *members<Name extends string>(names: readonly Name[]): Generator<Name | undefined, void> {
    this.at++;
    let byte;
    while ((byte = this.#peek()) === paused) yield;
    if (byte === closeBrace) return this.#step();
    for (;;) {
      if (byte !== quote) throw notJson();
      const start = this.at;
      while (!this.skipValue()) yield;
      const name = this.nameAt({ start, end: this.at }, names);
      while ((byte = this.#peek()) === paused) yield;
      if (byte !== colon) throw notJson();
      this.at++;
      while ((byte = this.#peek()) === paused) yield;
      if (byte === ended) throw notJson();
      this.charge(memberCost);
      if (name === "") while (!this.skipValue()) yield;
      else yield name;
      while ((byte = this.#peek()) === paused) yield;
      if (byte === closeBrace) return this.#step();
      if (byte !== comma) throw notJson();
      this.at++;
      while ((byte = this.#peek()) === paused) yield;
    }
  }

  /** The elements of the array that begins here: yields the number of each, with the scanner at its beginning. */
  *elements(): Generator<number | undefined, void> {
    this.at++;
    let byte;
    while ((byte = this.#peek()) === paused) yield;
    if (byte === closeBracket) return this.#step();
    for (let index = 0; ; index++) {
      this.charge(elementCost);
      yield index;
      while ((byte = this.#peek()) === paused) yield;
      if (byte === closeBracket) return this.#step();
      if (byte !== comma) throw notJson();
      this.at++;
      while ((byte = this.#peek()) === paused) yield;
    }
  }

  /** Steps over white space until the end of the text. Throws if something else follows. */
  *end(): Generator<undefined, void> {
    let byte;
    while ((byte = this.#peek()) === paused) yield;
    if (byte !== ended) throw notJson();
  }

  /** Steps over white space to the next byte, and returns it; a negative number at the end of the text. */
  *next(): Generator<undefined, number> {
    let byte;
    while ((byte = this.#peek()) === paused) yield;
    return byte;
  }

  /** Steps over white space, and returns the byte after it, `paused` or `ended`. */
  #peek(): number {
    const { bytes } = this;
    const end = Math.min(this.#sliceEnd, bytes.length);
    for (; this.at < end; this.at++) {
      const byte = bytes[this.at] ?? 0;
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte;
    }
    return this.at < bytes.length ? paused : ended;
  }

  /** Steps over the value that begins here, or over what is left of it; false if the slice ends before the value. */
  skipValue(): boolean {
    const { bytes } = this;
    if (!this.#inValue) {
      const first = bytes[this.at] ?? 0;
      if (first !== quote && first !== openBrace && first !== openBracket) return this.#skipScalar();
      this.#inValue = true;
    }
    const end = Math.min(this.#sliceEnd, bytes.length);
    let { at } = this;
    let braces = this.#braces;
    let brackets = this.#brackets;
    let inString = this.#inString;
    while (at < end) {
      const byte = bytes[at++] ?? 0;
      if (inString) {
        // The byte after a backslash belongs to it. It may be the first one of the next slice.
        if (byte === backslash) at++;
        else if (byte === quote) {
          inString = false;
          if (braces === 0 && brackets === 0) return this.#leaveValue(at);
        }
      } else if (byte === quote) {
        inString = true;
      } else if (byte === openBrace) {
        braces++;
      } else if (byte === openBracket) {
        brackets++;
      } else if (byte === closeBrace) {
        if (--braces < 0) throw notJson();
        if (braces === 0 && brackets === 0) return this.#leaveValue(at);
      } else if (byte === closeBracket) {
        if (--brackets < 0) throw notJson();
        if (braces === 0 && brackets === 0) return this.#leaveValue(at);
      }
    }
    this.at = at;
    this.#braces = braces;
    this.#brackets = brackets;
    this.#inString = inString;
    if (at >= bytes.length) throw notJson();
    return false;
  }

  /** A number, `true`, `false` or `null`. */
  #skipScalar(): boolean {
    const { bytes } = this;
    const start = this.at;
    const last = Math.min(bytes.length, start + longestScalar);
    let { at } = this;
    while (at < last && isScalarByte(bytes[at] ?? 0)) at++;
    if (at === start || !isScalar(bytes.subarray(start, at))) throw notJson();
    this.at = at;
    return true;
  }

  #leaveValue(at: number): true {
    this.at = at;
    this.#braces = 0;
    this.#brackets = 0;
    this.#inString = false;
    this.#inValue = false;
    return true;
  }

  #step(): void {
    this.at++;
  }

  /** Which of the names a value is, or "". Most strings are told apart by their length, without being decoded. */
  nameAt<Name extends string>({ start, end }: ByteRange, names: readonly Name[]): Name | "" {
    const { bytes } = this;
    if (bytes[start] !== quote) return "";
    const length = end - start - 2;
    let longest = 0;
    for (const name of names) {
      if (name.length > longest) longest = name.length;
      if (name.length !== length) continue;
      let index = 0;
      while (index < length && bytes[start + 1 + index] === name.charCodeAt(index)) index++;
      if (index === length) return name;
    }
    // An escape has at most six bytes for one character.
    if (length <= longest * 6 && bytes.subarray(start, end).includes(backslash)) {
      this.charge(parseCost);
      const written = parseString(bytes.subarray(start, end));
      return names.find((name) => name === written) ?? "";
    }
    return "";
  }
}

/** The error for bytes that are not JSON; it does not say where, as `parseJson` does not. */
function notJson(cause?: unknown): BridgeError {
  return new BridgeError("malformed", "The text is not valid JSON.", { cause });
}

function parseString(bytes: Uint8Array): string {
  try {
    return JSON.parse(decodeText(bytes)) as string;
  } catch (cause) {
    throw notJson(cause);
  }
}

/** The bytes of numbers and of the words `true`, `false` and `null`. */
function isScalarByte(byte: number): boolean {
  return (
    (byte >= 0x30 && byte <= 0x39) ||
    (byte >= 0x61 && byte <= 0x7a) ||
    byte === 0x2d ||
    byte === 0x2e ||
    byte === 0x2b ||
    byte === 0x45
  );
}

/** No client writes a longer number, and converting one takes long. */
const longestScalar = 1024;

function isScalar(bytes: Uint8Array): boolean {
  try {
    JSON.parse(decodeText(bytes));
    return true;
  } catch {
    return false;
  }
}
