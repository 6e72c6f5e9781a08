import { setImmediate as pause } from "node:timers/promises";
import { isAiSdkFrame } from "../protocol/index.ts";
import { JsonScanner } from "../protocol/json-scanner.ts";
import type { PathSegment } from "../protocol/json-path.ts";
import { parseJsonBytes } from "../protocol/parse-json.ts";
import { AnsweredMessage } from "./answered-message.ts";
import { chatOutline, type ChatOutline, type MessageList, tooLarge } from "./chat-outline.ts";
import { findAssistantMessage, messageHead, type MessageHead } from "./message-heads.ts";
import { requestLimits } from "./request-limits.ts";

/** Largest request with a chat's history, in bytes. Only a part of it is read. */
export const maxHistoryBytes = 32 * 1024 * 1024;

/** How many bytes are scanned before other work may run. */
const sliceBytes = 256 * 1024;

export interface ReadChatOptions {
  /** What is new in the request may have this many bytes. */
  maxNewBytes: number;
  /** True for a WebSocket frame, whose fields may be inside `data`. */
  isFrame?: boolean;
}

/**
 * A request with a chat's history, of which only what is new is read. Clients send their whole history with every
 * request, and the server has its own: old messages are stepped over, whatever is in them. What remains is the value that
 * `parseChatRequest` or `parseFrame` takes, with a short list of messages:
 *
 * - the message that the request is about: the one with the new text or the answers. It comes whole, except that an
 *   assistant message has only the parts that can be answers, with their outputs unread;
 * - the message before it, with its id and role only.
 */
export class ChatText {
  readonly #scanner: JsonScanner;
  readonly #options: ReadChatOptions;
  #outline: ChatOutline | undefined;

  constructor(bytes: Uint8Array, options: ReadChatOptions) {
    this.#scanner = new JsonScanner(bytes, { sliceBytes });
    this.#options = options;
  }

  /** The value with no messages. Throws if the text is not JSON or the value breaks a limit. */
  async outline(): Promise<unknown> {
    this.#outline ??= await this.#run(chatOutline(this.#scanner, this.#options.maxNewBytes));
    return this.#outline.value;
  }

  /** The value with the messages that are new. */
  async read(): Promise<unknown> {
    await this.outline();
    return this.#outline && this.#run(newMessages(this.#scanner, this.#outline, this.#options));
  }

  /** Runs a walk through the text, with a pause after each slice. */
  async #run<T>(walk: Generator<undefined, T>): Promise<T> {
    for (;;) {
      const step = walk.next();
      if (step.done) return step.value;
      this.#scanner.nextSlice();
      await pause();
    }
  }
}

/** The list of messages that counts, and how the value looks with other messages in it. */
interface Place {
  fields: Record<string, unknown>;
  list: MessageList;
  at: readonly PathSegment[];
  with(messages: readonly unknown[]): Record<string, unknown>;
}

function placeOf({ value, outer, inner }: ChatOutline, isFrame: boolean): Place | undefined {
  if (!isObject(value)) return undefined;
  const data = isFrame && !isAiSdkFrame(value) && isObject(value["data"]) ? value["data"] : undefined;
  const fields = { ...data, ...value };
  if (outer) return { fields, list: outer, at: ["messages"], with: (messages) => ({ ...value, messages }) };
  // A field outside wins, so a list inside counts only if there is nothing outside.
  if (!inner || !data || "messages" in value) return undefined;
  const within = (messages: readonly unknown[]) => ({ ...value, data: { ...data, messages } });
  return { fields, list: inner, at: ["data", "messages"], with: within };
}

function* newMessages(
  scanner: JsonScanner,
  outline: ChatOutline,
  { maxNewBytes, isFrame = false }: ReadChatOptions,
): Generator<undefined, unknown> {
  const place = placeOf(outline, isFrame);
  if (!place || place.list.count === 0) return outline.value;
  const { fields, list, at } = place;
  const { messageId, trigger } = fields;
  const lastIndex = list.count - 1;
  const heads = yield* lastHeads(scanner, list);

  // Nothing is new in the wish for another reply.
  if (trigger === "regenerate-message") return place.with([...known(heads.previous), heads.last ?? null]);

  const named = typeof messageId === "string" ? yield* findAssistantMessage(scanner, list, messageId) : undefined;
  const outside = bytesOutside(scanner.bytes, outline);
  if (named || heads.last?.role === "assistant") {
    const index = named?.index ?? lastIndex;
    const start = named?.range.start ?? list.rangeOf(lastIndex)?.start ?? 0;
    const options = { at: [...at, index], maxBytes: maxNewBytes, keptBytes: outside };
    const message = yield* new AnsweredMessage(scanner, options).read(start);
    const after = index < lastIndex ? known(heads.last) : [];
    const before = index === lastIndex ? known(heads.previous) : [];
    const between = index < lastIndex - 1 ? known(heads.previous) : [];
    return place.with([...before, message, ...between, ...after]);
  }

  const last = list.rangeOf(lastIndex) ?? list;
  const kept = outside + last.end - last.start;
  if (kept > maxNewBytes) throw tooLarge(maxNewBytes);
  const message = parseJsonBytes(scanner.bytes.subarray(last.start, last.end), {
    ...requestLimits,
    at: [...at, lastIndex],
  });
  // A request without an id begins a chat, so its earlier messages are new as well.
  if (fields["id"] === undefined && fields["chatId"] === undefined)
    return place.with([...(yield* earlierMessages(scanner, list, maxNewBytes - kept)), message]);
  return place.with([...known(heads.previous), message]);
}

/** The heads of the last two messages. */
function* lastHeads(
  scanner: JsonScanner,
  list: MessageList,
): Generator<undefined, { last?: MessageHead | undefined; previous?: MessageHead | undefined }> {
  const last = list.rangeOf(list.count - 1);
  const previous = list.rangeOf(list.count - 2);
  return {
    last: last && (yield* messageHead(scanner, last.start)),
    previous: previous && (yield* messageHead(scanner, previous.start)),
  };
}

/** A message that is not new: its head, if it has a role. Without one it is no message, and is left out. */
function known(head: MessageHead | undefined): MessageHead[] {
  return head?.role ? [head] : [];
}

/**
 * The messages before the last one, as many of the newest as fit into some bytes. One that breaks a limit is there with
 * its head only.
 */
function* earlierMessages(scanner: JsonScanner, list: MessageList, maxBytes: number): Generator<undefined, unknown[]> {
  const messages: unknown[] = [];
  let left = maxBytes;
  let parsed = 0;
  for (let index = list.count - 2; index >= 0; index--) {
    const range = list.rangeOf(index);
    if (!range) break;
    const length = range.end - range.start;
    left -= length;
    if (left < 0) break;
    parsed += length;
    if (parsed > sliceBytes) {
      parsed = 0;
      yield;
    }
    try {
      const limits = { ...requestLimits, at: ["messages", index] };
      messages.push(parseJsonBytes(scanner.bytes.subarray(range.start, range.end), limits));
    } catch {
      messages.push(...known(yield* messageHead(scanner, range.start)));
    }
  }
  return messages.toReversed();
}

/** How many bytes of a request are not inside its lists of messages. */
function bytesOutside({ length }: Uint8Array, { outer, inner }: ChatOutline): number {
  return [outer, inner].reduce((left, list) => left - (list ? list.end - list.start - 2 : 0), length);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
