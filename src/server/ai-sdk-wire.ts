import type { UIMessage, UIMessageChunk } from "ai";
import type { Reading, Reply } from "../agent/index.ts";
import { BridgeError } from "../protocol/index.ts";
import { type Translate, translator } from "./dialect.ts";
import { findRunning, replaying } from "./replay.ts";
import { unansweredAsDenied } from "./unanswered-as-denied.ts";
import type { Refusal, WireContext } from "./wire.ts";

/** What AI SDK 7's `WebSocketChatTransport` reads. `sequence` counts the chunks of one request from 0. */
type AiSdkResponse =
  | { type: "start" | "end" | "no-active"; requestId: string }
  | { type: "chunk"; requestId: string; sequence: number; chunk: UIMessageChunk }
  | { type: "error"; requestId: string; errorText: string };

/** Requests one socket may have open. A chat has one, and a page has few chats. */
const maxRequests = 64;

interface ReadingRequest {
  reader: AbortController;
  /** The turn that is read, if it is one. */
  reading?: Reading;
}

/** The frames of AI SDK 7's own WebSocket transport: each request gets its own reply, and several may be open at once. */
export class AiSdkWire {
  readonly #context: WireContext;
  readonly #requests = new Map<string, ReadingRequest>();
  /** The chats this socket asked about, with what to call when it leaves. */
  readonly #chats = new Map<string, () => void>();
  /** How far this socket has read the message it read last, by chat: a live model may add to it unasked. */
  readonly #readTo = new Map<string, { reply: string; sequence: number }>();
  #closed = false;

  constructor(context: WireContext) {
    this.#context = context;
  }

  /** Refuses a request that cannot be read before it has caused anything. */
  check(requestId: string): void {
    if (this.#requests.has(requestId)) throw new BridgeError("conflict", `Request ${requestId} is still open.`);
    if (this.#requests.size >= maxRequests)
      throw new BridgeError("too_many", `This socket has ${maxRequests} requests open.`);
  }

  reply(reply: Reply, { chat, requestId }: { chat: string; requestId: string }): void {
    if (this.#closed) return;
    this.#attach(chat);
    const read = this.#readTo.get(chat);
    const since = "turn" in reply && read?.reply === reply.turn.reply ? read.sequence : undefined;
    this.#begin(requestId, reply, this.#translator(), { chat, since });
  }

  async resume(chat: string, requestId: string): Promise<void> {
    const { bridge, owner, confirmation } = this.#context;
    const running = await findRunning(bridge, owner, chat, confirmation);
    if (this.#closed) return;
    this.#attach(chat);
    if (!running) {
      this.#send({ type: "no-active", requestId });
      return;
    }
    this.#send({ type: "start", requestId });
    const translate = replaying(this.#translator(running.message), running.message);
    this.#begin(requestId, running.reading, translate, { chat });
  }

  /** The reader leaves and does not want the rest: the turn it reads is stopped, unless it is over. */
  abort(requestId: string): void {
    const request = this.#requests.get(requestId);
    request?.reader.abort();
    request?.reading?.turn.stop(new Error("The user stopped the turn."));
    this.#requests.delete(requestId);
  }

  refuse({ message }: Refusal, requestId: string | undefined): void {
    // Stock clients fail at a frame without a requestId, and ignore one that they do not know.
    this.#send({ type: "error", requestId: requestId ?? "", errorText: message });
  }

  close(): void {
    this.#closed = true;
    for (const { reader } of this.#requests.values()) reader.abort();
    this.#requests.clear();
    for (const leave of this.#chats.values()) leave();
    this.#chats.clear();
  }

  #begin(
    requestId: string,
    reply: Reply,
    translate: Translate,
    place: { chat: string; since?: number | undefined },
  ): void {
    const request: ReadingRequest = { reader: new AbortController(), ...("turn" in reply && { reading: reply }) };
    this.#requests.set(requestId, request);
    const { signal } = request.reader;
    this.#read(requestId, reply, translate, { ...place, signal })
      .catch((error: unknown) => {
        if (signal.aborted) return;
        this.refuse(this.#context.toRefusal(error), requestId);
      })
      .finally(() => {
        if (this.#requests.get(requestId) === request) this.#requests.delete(requestId);
      });
  }

  async #read(
    requestId: string,
    reply: Reply,
    translate: Translate,
    { chat, since, signal }: { chat: string; since?: number | undefined; signal: AbortSignal },
  ): Promise<void> {
    const { bridge, writer } = this.#context;
    let sequence = 0;
    const say = async (chunk: UIMessageChunk) => {
      const translated = await translate(chunk);
      if (signal.aborted) return;
      for (const each of translated) this.#send({ type: "chunk", requestId, sequence: sequence++, chunk: each });
      if (writer.isFull) await writer.flushed();
    };
    if ("turn" in reply)
      for await (const chunks of bridge.read(reply, { signal, since })) {
        for (const { chunk } of chunks) await say(chunk);
        this.#readTo.set(chat, { reply: reply.turn.reply, sequence: chunks.at(-1)!.sequence });
        await writer.flushed();
      }
    else for await (const chunk of reply.chunks()) await say(chunk);
    if (!signal.aborted) this.#send({ type: "end", requestId });
  }

  #translator(before?: UIMessage): Translate {
    const { bridge, owner, confirmation } = this.#context;
    const lookup = (id: string) => bridge.approval(owner, id);
    const translate = translator(confirmation, lookup);
    return confirmation === "approval" ? unansweredAsDenied(translate, lookup, before) : translate;
  }

  #attach(chat: string): void {
    if (this.#chats.has(chat)) return;
    this.#chats.set(chat, this.#context.bridge.attach(this.#context.owner, chat));
    const [oldest] = this.#chats.keys();
    if (this.#chats.size <= maxRequests || oldest === undefined) return;
    this.#chats.get(oldest)?.();
    this.#chats.delete(oldest);
    this.#readTo.delete(oldest);
  }

  #send(response: AiSdkResponse): void {
    this.#context.writer.send(JSON.stringify(response));
  }
}
