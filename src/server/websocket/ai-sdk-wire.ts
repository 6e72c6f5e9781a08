import type { UIMessageChunk } from "ai";
import type { Reading, Reply } from "../../agent/index.ts";
import { BridgeError, type ClientFrame } from "../../protocol/index.ts";
import { interpret } from "../interpret.ts";
import type { Refusal } from "../refusal.ts";
import type { View } from "../views/index.ts";
import type { Wire } from "./wire.ts";
import type { WireContext } from "./wire-context.ts";

/** The frames that AI SDK 7's `WebSocketChatTransport` reads. `sequence` counts the chunks of one request from 0. */
type AiSdkResponse =
  | { type: "start" | "end" | "no-active"; requestId: string }
  | { type: "chunk"; requestId: string; sequence: number; chunk: UIMessageChunk }
  | { type: "error"; requestId: string; errorText: string };

/** How many requests one socket may have open. A chat has one, and a page has few chats. */
const maxRequests = 64;

interface OpenRequest {
  reader: AbortController;
  /** The turn that is read, if the reply is one. */
  reading?: Reading;
}

/** What one request reads. */
interface ReadOptions {
  chat: string;
  requestId: string;
  view: View;
  /** Adds chunks of other turns of the same message after this sequence number. */
  since?: number | undefined;
}

/** The frames of AI SDK 7's own WebSocket transport: each request gets a reply of its own, and several may be open. */
export class AiSdkWire implements Wire {
  readonly #context: WireContext;
  readonly #requests = new Map<string, OpenRequest>();
  /** The chats that this socket asked about, with the functions that let them go. */
  readonly #chats = new Map<string, () => void>();
  /** How far this socket has read its last message, by chat: a live model may add to that message without a request. */
  readonly #readTo = new Map<string, { reply: string; sequence: number }>();
  #closed = false;

  constructor(context: WireContext) {
    this.#context = context;
  }

  async receive(frame: ClientFrame): Promise<void> {
    switch (frame.type) {
      case "send": {
        const { id: chat, requestId } = frame;
        this.#checkRequest(requestId);
        const reply = await this.#context.submit(chat, interpret(frame));
        return this.#reply(reply, reply.chatName, requestId);
      }
      case "resume":
        this.#checkRequest(frame.requestId);
        return this.#context.read(() => this.#resume(frame.id, frame.requestId));
      case "abort":
        return this.#abort(frame.requestId);
      default:
        throw new BridgeError(
          "invalid",
          `The first frame of this socket chose the AI SDK wire; a ${frame.type} frame needs a socket with the chat wire.`,
        );
    }
  }

  refuse({ message }: Refusal, requestId: string | undefined): void {
    // Stock clients throw at a frame without a requestId, and ignore one with a requestId that they do not know.
    this.#send({ type: "error", requestId: requestId ?? "", errorText: message });
  }

  close(): void {
    this.#closed = true;
    for (const { reader } of this.#requests.values()) reader.abort();
    this.#requests.clear();
    for (const leave of this.#chats.values()) leave();
    this.#chats.clear();
  }

  /** Throws if no reply to this request could be read; called before the request has an effect. */
  #checkRequest(requestId: string): void {
    if (this.#requests.has(requestId))
      throw new BridgeError(
        "conflict",
        `Request ${requestId} is still open on this socket; a new request needs another requestId.`,
      );
    if (this.#requests.size >= maxRequests)
      throw new BridgeError(
        "too_many",
        `The limit of ${maxRequests} open requests of this socket is reached. Wait until one has ended.`,
      );
  }

  #reply(reply: Reply, chat: string, requestId: string): void {
    if (this.#closed) return;
    this.#attach(chat);
    const read = this.#readTo.get(chat);
    const since = "turn" in reply && read?.reply === reply.turn.reply ? read.sequence : undefined;
    this.#begin(reply, { chat, requestId, view: this.#context.view({ knowsDecisions: true }), since });
  }

  async #resume(chat: string, requestId: string): Promise<void> {
    const running = await this.#context.findRunning(chat);
    if (this.#closed) return;
    this.#attach(chat);
    if (!running) {
      this.#send({ type: "no-active", requestId });
      return;
    }
    this.#send({ type: "start", requestId });
    const view = this.#context.view({ replay: running.message, knowsDecisions: true });
    this.#begin(running.reading, { chat, requestId, view });
  }

  /** Stops reading, and stops the turn that the request reads, unless it is over. */
  #abort(requestId: string): void {
    const request = this.#requests.get(requestId);
    request?.reader.abort();
    request?.reading?.turn.stop(new Error("The user stopped the turn."));
    this.#requests.delete(requestId);
  }

  #begin(reply: Reply, options: ReadOptions): void {
    const { requestId } = options;
    const request: OpenRequest = { reader: new AbortController(), ...("turn" in reply && { reading: reply }) };
    this.#requests.set(requestId, request);
    const { signal } = request.reader;
    this.#read(reply, options, signal)
      .catch((error: unknown) => {
        if (!signal.aborted) this.refuse(this.#context.toRefusal(error), requestId);
      })
      .finally(() => {
        if (this.#requests.get(requestId) === request) this.#requests.delete(requestId);
      });
  }

  async #read(reply: Reply, { chat, requestId, view, since }: ReadOptions, signal: AbortSignal): Promise<void> {
    const { bridge, writer } = this.#context;
    let sequence = 0;
    const send = async (chunk: UIMessageChunk) => {
      const seen = await view(chunk);
      if (signal.aborted) return;
      for (const each of seen) this.#send({ type: "chunk", requestId, sequence: sequence++, chunk: each });
      if (writer.isFull) await writer.flushed();
    };
    if ("turn" in reply)
      for await (const chunks of bridge.read(reply, { signal, since })) {
        let last = 0;
        for (const logged of chunks) {
          await send(logged.chunk);
          last = logged.sequence;
        }
        this.#readTo.set(chat, { reply: reply.turn.reply, sequence: last });
        await writer.flushed();
      }
    else for await (const chunk of reply.chunks()) await send(chunk);
    if (!signal.aborted) this.#send({ type: "end", requestId });
  }

  /** Attaches this socket to a chat. Beyond the limit, the chat that was attached first is let go. */
  #attach(chat: string): void {
    if (this.#chats.has(chat)) return;
    this.#chats.set(chat, this.#context.attach(chat));
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
