import { BridgeError } from "../protocol/index.ts";
import { type ByteRange, type JsonScanner, openBrace, openBracket, parseCost } from "../protocol/json-scanner.ts";
import type { PathSegment } from "../protocol/json-path.ts";
import { decodeText, parseJson } from "../protocol/parse-json.ts";
import { type ReadBudget, UnreadJson } from "../protocol/unread-json.ts";
import { sameKeyTwice, tooLarge } from "./chat-outline.ts";
import { requestLimits } from "./request-limits.ts";

/** The fields of a part in which a client can answer. */
const small = ["type", "toolCallId", "toolName", "state", "approval", "preliminary"] as const;
const large = ["output", "errorText", "result"] as const;
const partFields = [...small, ...large] as const;

type Fields<Name extends string> = Map<Name, ByteRange>;
type Part = Record<string, unknown>;

/** The longest error text that is used; the rest is cut off. */
const longestError = 4000;

/**
 * Reads from an assistant message only what can be an answer. The rest of such a message is the server's own work that
 * the client sends back: text, inputs, and the outputs of tools. An output stays unread until a call needs it.
 */
export class AnsweredMessage {
  readonly #scanner: JsonScanner;
  /** Where the message is in the request. */
  readonly #at: readonly PathSegment[];
  readonly #maxBytes: number;
  readonly #outputs: ReadBudget;
  #keptBytes: number;

  /** `keptBytes` is what has been kept of the request before. */
  constructor(
    scanner: JsonScanner,
    { at, maxBytes, keptBytes }: { at: readonly PathSegment[]; maxBytes: number; keptBytes: number },
  ) {
    this.#scanner = scanner;
    this.#at = at;
    this.#maxBytes = maxBytes;
    this.#keptBytes = keptBytes;
    this.#outputs = { bytes: maxBytes };
  }

  /** The message that begins at a byte, in the form that `parseChatRequest` takes. */
  *read(start: number): Generator<undefined, Part> {
    const scanner = this.#scanner;
    scanner.moveTo(start);
    const fields: Fields<"id" | "role" | "parts" | "content"> = new Map();
    const lists: Part = {};
    for (const name of scanner.members(["id", "role", "parts", "content"])) {
      if (name === undefined) yield;
      else if (fields.has(name) || name in lists) throw sameKeyTwice();
      else if (name === "content" && scanner.firstByte() === 0x22) {
        // Words of the assistant. They cannot be an answer.
        while (!scanner.skipValue()) yield;
        lists["content"] = "";
      } else if ((name === "parts" || name === "content") && scanner.firstByte() === openBracket)
        lists[name] = yield* this.#parts(name);
      else fields.set(name, yield* scanner.value());
    }
    return { ...this.#parse(fields, [...fields.keys()], this.#at), ...lists };
  }

  *#parts(list: string): Generator<undefined, unknown[]> {
    const scanner = this.#scanner;
    const kept: unknown[] = [];
    for (const index of scanner.elements()) {
      if (index === undefined) yield;
      else if (scanner.firstByte() === openBrace) {
        const part = yield* this.#part([...this.#at, list, index]);
        if (part) kept.push(part);
      } else {
        // Not a part. The schema refuses it.
        while (!scanner.skipValue()) yield;
        kept.push(null);
      }
    }
    return kept;
  }

  *#part(at: readonly PathSegment[]): Generator<undefined, Part | undefined> {
    const scanner = this.#scanner;
    const fields: Fields<(typeof partFields)[number]> = new Map();
    for (const name of scanner.members(partFields)) {
      if (name === undefined) yield;
      else if (fields.has(name)) throw sameKeyTwice();
      else fields.set(name, yield* scanner.value());
    }
    const typeRange = fields.get("type");
    // Most parts are text, and are recognised before anything of them is decoded.
    if (typeRange && scanner.nameAt(typeRange, ["text", "reasoning", "step-start"])) return undefined;
    const part = this.#parse(fields, small, at);
    const { type, toolName, state } = part;
    if (typeof type !== "string") return part;
    if (type !== "dynamic-tool" && !type.startsWith("tool-")) return undefined;
    if (type === "tool-result") return { ...part, ...this.#parse(fields, ["result"], at) };
    const name = type === "dynamic-tool" ? toolName : type.slice("tool-".length);
    if (name === "adk_request_confirmation") return { ...part, ...this.#parse(fields, ["output"], at) };
    if (part["approval"] === undefined && state !== "output-available" && state !== "output-error") return undefined;
    return { ...part, ...this.#result(fields, at) };
  }

  /** What a tool returned, or why it failed. */
  #result(fields: Fields<(typeof partFields)[number]>, at: readonly PathSegment[]): Part {
    const output = fields.get("output");
    const error = fields.get("errorText");
    const { bytes } = this.#scanner;
    const limits = { ...requestLimits, at: [...at, "output"] };
    return {
      ...(output && { output: new UnreadJson(bytes.subarray(output.start, output.end), limits, this.#outputs) }),
      ...(error && { errorText: beginningOfString(bytes.subarray(error.start, error.end)) }),
    };
  }

  /** An object with some of the fields, parsed and checked as everything that is new. */
  #parse<Name extends string>(fields: Fields<Name>, names: readonly Name[], at: readonly PathSegment[]): Part {
    const { bytes } = this.#scanner;
    const members: string[] = [];
    for (const name of names) {
      const range = fields.get(name);
      if (!range) continue;
      this.#keptBytes += name.length + range.end - range.start;
      if (this.#keptBytes > this.#maxBytes) throw tooLarge(this.#maxBytes);
      members.push(`"${name}":${decodeText(bytes.subarray(range.start, range.end))}`);
    }
    if (members.length === 0) return {};
    this.#scanner.charge(members.length * parseCost);
    return parseJson(`{${members.join(",")}}`, { ...requestLimits, at }) as Part;
  }
}

const lenient = new TextDecoder();

/** The first characters of a string; undefined if it is something else. A long text is neither decoded nor checked. */
function beginningOfString(json: Uint8Array): string | undefined {
  if (json[0] !== 0x22) return undefined;
  // An escape has at most six bytes for one character. A cut escape or character is after the ones that are used.
  const cut = json.length > (longestError + 2) * 6;
  const text = lenient.decode(cut ? json.subarray(0, (longestError + 2) * 6) : json);
  for (let dropped = 0; dropped <= (cut ? 6 : 0); dropped++)
    try {
      const read: unknown = JSON.parse(cut ? `${text.slice(0, text.length - dropped)}"` : text);
      if (typeof read === "string") return read.slice(0, longestError);
    } catch {
      // The cut is inside an escape: drop one more character of it.
    }
  throw new BridgeError("malformed", "The text is not valid JSON.");
}
