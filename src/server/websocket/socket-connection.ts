import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import { errorTable, isAiSdkFrame, parseFrame, requestIdOf } from "../../protocol/index.ts";
import type { Share } from "../../protocol/quota.ts";
import { ChatText } from "../read-chat.ts";
import { type Refusal, toRefusal } from "../refusal.ts";
import { TokenBucket } from "../token-bucket.ts";
import { AiSdkWire } from "./ai-sdk-wire.ts";
import { ChatWire } from "./chat-wire.ts";
import type { Handshake } from "./handshake.ts";
import { IdentityCheck } from "./identity-check.ts";
import type { SocketShared } from "./socket-shared.ts";
import { SocketWriter } from "./socket-writer.ts";
import { changesSomething, type Wire } from "./wire.ts";
import { WireContext } from "./wire-context.ts";

/** Largest frame without a chat history. */
const maxSmallFrameBytes = 64 * 1024;
/** A socket that sends this many bytes between two ticks is in the middle of a frame, however slow its link is. */
const progressBytes = 1024;

/** The head of a ping or a pong. They may come in the middle of a message and are not part of it. */
const controlBytes = 6;

/**
 * One socket. Its frames are handled in order and one at a time, and it is not read meanwhile, so that a client that
 * sends faster than its frames are handled is slowed down by TCP. What a frame means is up to the wire.
 */
export class SocketConnection {
  readonly #socket: WebSocket;
  readonly #stream: Socket;
  readonly #handshake: Handshake;
  readonly #shared: SocketShared;
  readonly #writer: SocketWriter;
  readonly #bucket: TokenBucket;
  readonly #identity: IdentityCheck;
  /** Chosen by the first frame. */
  #wire: Wire | undefined;
  #inbox: Buffer[] | undefined;
  #isBusy = false;
  /** True after the first valid frame. */
  #hasSpoken = false;
  #isAlive = true;
  #pingedAt: number;
  #progressAt: number;
  #bytesRead: number;
  /** How much the socket had sent when its last frame was complete. What came since is part of a frame. */
  #completeAt: number;
  /** The memory of large frames, from their beginning until they have been handled. */
  #memory: { share: Share; bytes: number } | undefined;

  constructor(socket: WebSocket, stream: Socket, handshake: Handshake, shared: SocketShared) {
    const { now } = shared;
    const { limits } = shared.bounds;
    this.#socket = socket;
    this.#stream = stream;
    this.#handshake = handshake;
    this.#shared = shared;
    this.#writer = new SocketWriter(socket, stream, now);
    this.#bucket = new TokenBucket({ ...limits.frames, now: now() });
    this.#identity = new IdentityCheck(handshake, now);
    this.#pingedAt = now();
    this.#progressAt = now();
    this.#bytesRead = stream.bytesRead;
    this.#completeAt = stream.bytesRead;
  }

  get owner(): string {
    return this.#handshake.identity.owner;
  }

  /** The socket has sent something. */
  onData(): void {
    const unfinished = this.#stream.bytesRead - this.#completeAt;
    if (unfinished <= maxSmallFrameBytes || !this.#isOpen) return;
    const { bytes } = this.#shared.bounds;
    try {
      const more = unfinished - (this.#memory?.bytes ?? 0);
      if (this.#memory && more > 0) this.#memory.share.add(more);
      this.#memory = { share: this.#memory?.share ?? bytes.take(this.owner, unfinished), bytes: unfinished };
    } catch (error) {
      // The rest of the frame cannot be refused otherwise.
      const { code, message } = this.#toRefusal(error);
      this.close(errorTable[code].close, message);
      // Not even the rest of the frame is read. `ws` cuts the connection after a moment.
      this.#stream.pause();
    }
  }

  onMessage(data: Buffer, isBinary: boolean): void {
    this.#completeAt = this.#stream.bytesRead;
    if (!this.#take()) return;
    if (isBinary) return this.close(errorTable.unsupported_media_type.close, "Frames are JSON text, not binary.");
    (this.#inbox ??= []).push(data);
    if (!this.#isBusy) void this.#work();
  }

  onPing(data: Buffer): void {
    this.#completeAt += controlBytes + data.length;
    if (this.#take() && !this.#writer.isFull) this.#socket.pong(data);
  }

  onPong(data: Buffer): void {
    this.#completeAt += controlBytes + data.length;
    if (this.#take()) this.#isAlive = true;
  }

  /** The socket is closed. */
  onClose(): void {
    this.#inbox = undefined;
    this.#release();
    this.#writer.close();
    this.#wire?.close();
  }

  /** Checks the socket's limits and its heartbeat; called at regular intervals. */
  onTick(): void {
    const { now } = this.#shared;
    const { limits } = this.#shared.bounds;
    const at = now();
    if (this.#writer.isStalled(at, limits.stallMs)) return this.#socket.terminate();
    if (!this.#isOpen) return;
    const { bytesRead } = this.#stream;
    if (bytesRead - this.#bytesRead >= progressBytes) {
      this.#bytesRead = bytesRead;
      this.#progressAt = at;
    }
    if (!this.#hasSpoken && !this.#isBusy && at - this.#progressAt >= limits.silenceMs)
      return this.close(errorTable.invalid.close, `No frame came for ${limits.silenceMs / 1000} seconds.`);
    if (this.#identity.isDue(at, limits.heartbeatMs))
      void this.#isStillKnown(this.#identity.beat(this.#shared.heartbeats, () => this.#isOpen));
    if (at - this.#pingedAt < limits.heartbeatMs) return;
    // A pong cannot overtake a frame that is being sent, and is not received while the socket is paused.
    const isAlive = this.#isAlive || this.#isBusy || this.#progressAt >= this.#pingedAt;
    if (!isAlive) return this.#socket.terminate();
    this.#isAlive = false;
    this.#pingedAt = at;
    this.#socket.ping();
  }

  /** Sends a close frame; `ws` cuts the connection if the client does not reply to it. */
  close(code: number, reason: string): void {
    this.#inbox = undefined;
    this.#writer.write();
    this.#socket.close(code, shorten(reason));
    this.#socket.resume();
  }

  #take(): boolean {
    if (!this.#isOpen) return false;
    if (this.#bucket.take(this.#shared.now())) return true;
    this.close(errorTable.too_many.close, "Too many frames at once. Try again in a moment.");
    return false;
  }

  async #work(): Promise<void> {
    this.#isBusy = true;
    this.#socket.pause();
    for (let data = this.#inbox?.shift(); data; data = this.#inbox?.shift()) {
      await this.#handle(data);
      await this.#writer.flushed();
    }
    this.#isBusy = false;
    this.#inbox = undefined;
    this.#release();
    this.#socket.resume();
  }

  #release(): void {
    this.#memory?.share.release();
    this.#memory = undefined;
  }

  /** Never throws: errors are reported on the socket. */
  async #handle(data: Buffer): Promise<void> {
    const text = new ChatText(data, { maxNewBytes: this.#shared.maxBodyBytes, isFrame: true });
    let value: unknown;
    try {
      value = await text.outline();
      if (data.length > maxSmallFrameBytes && !hasHistory(value))
        return this.close(
          errorTable.too_large.close,
          `A frame without a chat history may have at most ${maxSmallFrameBytes} bytes.`,
        );
      value = await text.read();
    } catch (error) {
      const { code, message } = this.#toRefusal(error);
      if (code === "malformed" || code === "too_large") return this.close(errorTable[code].close, message);
      return this.#refuse({ code, message }, value);
    }
    try {
      const frame = parseFrame(value);
      this.#hasSpoken = true;
      if (changesSomething(frame) && !(await this.#isStillKnown(this.#identity.check()))) return;
      await this.#wireFor(frame).receive(frame);
    } catch (error) {
      this.#refuse(this.#toRefusal(error), value);
    }
  }

  get #isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN;
  }

  /** Closes the socket and returns false if it no longer belongs to the identity that opened it. */
  async #isStillKnown(check: Promise<void>): Promise<boolean> {
    try {
      await check;
      return true;
    } catch (error) {
      const { code, message } = toRefusal(error, this.#shared.logger, "A socket could not be authenticated again.");
      this.close(errorTable[code].close, message);
      return false;
    }
  }

  #refuse(refusal: Refusal, value: unknown): void {
    this.#wireFor(value).refuse(refusal, requestIdOf(value));
    // A first frame that cannot be read comes from a client that does not know this protocol.
    if (!this.#hasSpoken) this.close(errorTable.invalid.close, refusal.message);
  }

  #toRefusal(error: unknown): Refusal {
    return toRefusal(error, this.#shared.logger, "A frame failed.");
  }

  /** The wire of this socket. If this is its first frame, the frame chooses it. */
  #wireFor(frame: unknown): Wire {
    if (this.#wire) return this.#wire;
    const context = new WireContext(this.#shared, this.#handshake, this.#writer, this);
    this.#wire = isAiSdkFrame(frame) ? new AiSdkWire(context) : new ChatWire(context);
    return this.#wire;
  }
}

/** True for the two frames that contain a chat's history. */
function hasHistory(value: unknown): boolean {
  const type = typeof value === "object" && value !== null && "type" in value ? value.type : undefined;
  return type === "message" || type === "send";
}

/** The WebSocket standard allows 123 bytes for the reason of a close. */
function shorten(reason: string): string {
  const bytes = Buffer.from(reason);
  if (bytes.length <= 123) return reason;
  return `${new TextDecoder().decode(bytes.subarray(0, 119)).replace(/\uFFFD+$/, "")}…`;
}
