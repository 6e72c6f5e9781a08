import type { UIMessage } from "ai";
import type { Bridge, Submission, Submitted } from "../../agent/index.ts";
import { errorTable } from "../../protocol/index.ts";
import { type Refusal, toRefusal } from "../refusal.ts";
import { type Confirmation, findRunning, TurnView, type View, viewOf } from "../views/index.ts";
import type { ChatArrivals } from "./chat-arrivals.ts";
import type { Handshake } from "./handshake.ts";
import type { SentMessages } from "./sent-messages.ts";
import type { SocketShared } from "./socket-shared.ts";
import type { SocketWriter } from "./socket-writer.ts";

interface Closable {
  close(code: number, reason: string): void;
}

/** One socket as its wire sees it, with everything that both wires do in the same way. */
export class WireContext {
  readonly writer: SocketWriter;
  readonly #shared: SocketShared;
  readonly #handshake: Handshake;
  readonly #connection: Closable;

  constructor(shared: SocketShared, handshake: Handshake, writer: SocketWriter, connection: Closable) {
    this.writer = writer;
    this.#shared = shared;
    this.#handshake = handshake;
    this.#connection = connection;
  }

  get bridge(): Bridge {
    return this.#shared.bridge;
  }

  get arrivals(): ChatArrivals {
    return this.#shared.arrivals;
  }

  get sent(): SentMessages {
    return this.#shared.sent;
  }

  get owner(): string {
    return this.#handshake.identity.owner;
  }

  get confirmation(): Confirmation {
    return this.#handshake.confirmation;
  }

  get numbered(): boolean {
    return this.#handshake.numbered;
  }

  /** Hands a submission to the bridge, and wakes sockets that wait for the chat to exist. `request` is the client's id for it. */
  async submit(chat: string | undefined, submission: Submission, request?: string): Promise<Submitted> {
    const reply = await this.bridge.submit(this.#handshake.identity, chat, submission, { live: true, request });
    this.arrivals.announce(this.owner, reply.chatName);
    return reply;
  }

  /** Reads a chat for a frame that asks to. Waits for its turn; throws if the owner asks too often. */
  async read<T>(work: () => Promise<T>): Promise<T> {
    const { attaches, reads } = this.#shared.bounds;
    await attaches.pass(this.owner);
    return reads.run(this.owner, work);
  }

  /** Reads a part of a chat's log that has been written before. Waits for its turn. */
  catchUp<T>(work: () => Promise<T>): Promise<T> {
    return this.#shared.bounds.reads.run(this.owner, work);
  }

  /** Keeps the model's connection to the chat open; returns the function that lets it go. */
  attach(chat: string): () => void {
    return this.bridge.attach(this.owner, chat);
  }

  findRunning(chat: string): ReturnType<typeof findRunning> {
    return findRunning(this.bridge, this.owner, chat, this.confirmation);
  }

  /** The view of one turn. */
  view(options: { replay?: UIMessage | undefined; knowsDecisions?: boolean } = {}): View {
    return viewOf({ bridge: this.bridge, owner: this.owner, confirmation: this.confirmation, ...options });
  }

  /** The view of turn after turn. */
  turnView(first?: { replay: UIMessage | undefined; chatId: string | undefined }): TurnView {
    return new TurnView(this, first);
  }

  /** What the client may be told about an error; errors of the server are logged. */
  toRefusal(error: unknown): Refusal {
    return toRefusal(error, this.#shared.logger, "A frame failed.");
  }

  /** Closes the socket after a failure that the wire cannot report as the refusal of a frame. */
  fail(error: unknown): void {
    const { code, message } = this.toRefusal(error);
    this.#connection.close(errorTable[code].close, message);
  }
}
