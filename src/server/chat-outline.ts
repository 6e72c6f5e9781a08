import { BridgeError } from "../protocol/index.ts";
import { type ByteRange, type JsonScanner, openBrace, openBracket } from "../protocol/json-scanner.ts";
import { decodeText, parseJson } from "../protocol/parse-json.ts";
import { requestLimits } from "./request-limits.ts";

/** How many messages of the list are remembered: the last ones. */
const rememberedMessages = 1000;

/** A list of messages in a request, by its place in the text. */
export interface MessageList extends ByteRange {
  /** How many messages it has. */
  count: number;
  /** Where the message with this number is; undefined if it is not one of the last. */
  rangeOf(index: number): ByteRange | undefined;
}

/** A request or a frame without its messages, and where the messages are. */
export interface ChatOutline {
  /** The whole value; in place of the messages it has an empty list. */
  value: unknown;
  /** The list at the top level. */
  outer?: MessageList | undefined;
  /** The list inside `data`. */
  inner?: MessageList | undefined;
}

/** Finds the messages of a request, and reads everything else, which may have at most `maxBytes`. */
export function* chatOutline(scanner: JsonScanner, maxBytes: number): Generator<undefined, ChatOutline> {
  const { bytes } = scanner;
  const lists: Pick<ChatOutline, "outer" | "inner"> = {};
  if ((yield* scanner.next()) !== openBrace) return { value: parseRest(bytes, [], maxBytes) };
  for (const name of scanner.members(["messages", "data"])) {
    if (name === undefined) yield;
    else if (name === "messages" && scanner.firstByte() === openBracket) yield* addList("outer");
    else if (name === "data" && scanner.firstByte() === openBrace) {
      for (const inner of scanner.members(["messages"]))
        if (inner === undefined) yield;
        else if (scanner.firstByte() === openBracket) yield* addList("inner");
        else while (!scanner.skipValue()) yield;
    } else while (!scanner.skipValue()) yield;
  }
  yield* scanner.end();
  return { value: parseRest(bytes, Object.values(lists), maxBytes), ...lists };

  function* addList(place: "outer" | "inner"): Generator<undefined, void> {
    if (lists[place]) throw sameKeyTwice();
    lists[place] = yield* messageList(scanner);
  }
}

function* messageList(scanner: JsonScanner): Generator<undefined, MessageList> {
  const start = scanner.at;
  /** The last messages, each at its number modulo the length. */
  const ranges: ByteRange[] = [];
  let count = 0;
  for (const index of scanner.elements()) {
    if (index === undefined) {
      yield;
      continue;
    }
    const first = scanner.at;
    while (!scanner.skipValue()) yield;
    ranges[index % rememberedMessages] = { start: first, end: scanner.at };
    count = index + 1;
  }
  const rangeOf = (index: number) =>
    index >= 0 && index < count && index >= count - rememberedMessages ? ranges[index % rememberedMessages] : undefined;
  return { start, end: scanner.at, count, rangeOf };
}

/** Parses the text without what is inside the lists. */
function parseRest(bytes: Uint8Array, lists: readonly MessageList[], maxBytes: number): unknown {
  const pieces: Uint8Array[] = [];
  let from = 0;
  // Both lists can be there, and in any order.
  for (const { start, end } of lists.toSorted((a, b) => a.start - b.start)) {
    pieces.push(bytes.subarray(from, start + 1));
    from = end - 1;
  }
  pieces.push(bytes.subarray(from));
  if (pieces.reduce((sum, piece) => sum + piece.length, 0) > maxBytes) throw tooLarge(maxBytes);
  return parseJson(pieces.map(decodeText).join(""), requestLimits);
}

/** The error for a request whose new part has more bytes than it may have. */
export function tooLarge(maxBytes: number): BridgeError {
  return new BridgeError("too_large", `What is new in the request is larger than ${maxBytes} bytes.`);
}

/** The error for an object with two members of one name. */
export function sameKeyTwice(): BridgeError {
  return new BridgeError("invalid", "The JSON has the same key twice in one object.");
}
