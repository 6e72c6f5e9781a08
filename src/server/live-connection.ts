import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import type { Bridge, Logger } from "../agent/index.ts";
import {
  BridgeError,
  type ClientFrame,
  errorTable,
  isAiSdkFrame,
  parseFrame,
  parseJson,
  requestIdOf,
} from "../protocol/index.ts";
import { AiSdkWire } from "./ai-sdk-wire.ts";
import type { ChatArrivals } from "./chat-arrivals.ts";
import type { Confirmation } from "./dialect.ts";
import { internalSentence } from "./handler.ts";
import { interpret, resultToAnswer } from "./interpret.ts";
import type { ConnectionLimits } from "./live-limits.ts";
import { SeedWire } from "./seed-wire.ts";
import type { SentMessages } from "./sent-messages.ts";
import { SocketWriter } from "./socket-writer.ts";
import { TokenBucket } from "./token-bucket.ts";
import type { Refusal, WireContext } from "./wire.ts";

/** What all sockets of a server share. */
export interface LiveShared {
  bridge: Bridge;
  logger: Logger;
  arrivals: ChatArrivals;
  sent: SentMessages;
  limits: ConnectionLimits;
  now: () => number;
}

/** What the handshake said. */
export interface Handshake {
  owner: string;
  confirmation: Confirmation;
  /** True where the client asked for sequence numbers and control frames. */
  numbered: boolean;
}

/** Frames that carry no chat history have no reason to be larger. */
const maxSmallFrameBytes = 64 * 1024;
/** So much within one look at a socket is a frame on its way, over however slow a link. */
const progressBytes = 1024;

/**
 * One socket: its frames are handled in order and one at a time, and it is not read meanwhile. What a frame means is
 * decided in `#perform`, for both wires; a wire only translates. The socket may go away at any moment, and stops nothing.
 */
export class LiveConnection {
  readonly #socket: WebSocket;
  readonly #stream: Socket;
  readonly #handshake: Handshake;
  readonly #shared: LiveShared;
  readonly #writer: SocketWriter;
  readonly #bucket: TokenBucket;
  #wire: { seed: SeedWire; aiSdk?: undefined } | { seed?: undefined; aiSdk: AiSdkWire } | undefined;
  #inbox: Buffer[] | undefined;
  #isBusy = false;
  #hasSpoken = false;
  #isAlive = true;
  #pingedAt: number;
  #progressAt: number;
  #bytesRead: number;

  constructor(socket: WebSocket, stream: Socket, handshake: Handshake, shared: LiveShared) {
    const { limits, now } = shared;
    this.#socket = socket;
    this.#stream = stream;
    this.#handshake = handshake;
    this.#shared = shared;
    this.#writer = new SocketWriter(socket, stream, now);
    this.#bucket = new TokenBucket({ ...limits.frames, now: now() });
    this.#pingedAt = now();
    this.#progressAt = now();
    this.#bytesRead = stream.bytesRead;
  }

  get owner(): string {
    return this.#handshake.owner;
  }

  onMessage(data: Buffer, isBinary: boolean): void {
    if (!this.#take()) return;
    if (isBinary) return this.close(errorTable.unsupported_media_type.close, "Frames are JSON text, not binary.");
    (this.#inbox ??= []).push(data);
    if (!this.#isBusy) void this.#work();
  }

  onPing(data: Buffer): void {
    if (this.#take() && !this.#writer.isFull) this.#socket.pong(data);
  }

  onPong(): void {
    if (this.#take()) this.#isAlive = true;
  }

  /** The socket is gone. */
  onClose(): void {
    this.#inbox = undefined;
    this.#writer.close();
    this.#wire?.seed?.close();
    this.#wire?.aiSdk?.close();
  }

  /** Looks after the socket; called every now and then. */
  onTick(): void {
    const { limits, now } = this.#shared;
    const at = now();
    const isOpen = this.#socket.readyState === this.#socket.OPEN;
    if (this.#writer.isStalled(at, limits.stallMs)) return this.#socket.terminate();
    if (!isOpen) return;
    const { bytesRead } = this.#stream;
    if (bytesRead - this.#bytesRead >= progressBytes) {
      this.#bytesRead = bytesRead;
      this.#progressAt = at;
    }
    if (!this.#hasSpoken && !this.#isBusy && at - this.#progressAt >= limits.silenceMs)
      return this.close(errorTable.invalid.close, "Nothing was said for too long.");
    if (at - this.#pingedAt < limits.heartbeatMs) return;
    // A pong cannot overtake a frame that is on its way, nor be heard while the socket is not read.
    const isHeard = this.#isAlive || this.#isBusy || this.#progressAt >= this.#pingedAt;
    if (!isHeard) return this.#socket.terminate();
    this.#isAlive = false;
    this.#pingedAt = at;
    this.#socket.ping();
  }

  /** Says goodbye; whoever does not answer that is cut off. */
  close(code: number, reason: string): void {
    this.#inbox = undefined;
    this.#socket.close(code, shorten(reason));
    this.#socket.resume();
  }

  #take(): boolean {
    if (this.#socket.readyState !== this.#socket.OPEN) return false;
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
    this.#socket.resume();
  }

  /** Never throws: whatever goes wrong is told on the socket. */
  async #handle(data: Buffer): Promise<void> {
    let value: unknown;
    try {
      value = parseJson(data.toString("utf8"), { maxDepth: 64 });
    } catch (error) {
      const { code, message } = this.#toRefusal(error);
      if (code === "malformed") return this.close(errorTable.malformed.close, message);
      return this.#refuse({ code, message }, value);
    }
    if (data.length > maxSmallFrameBytes && !hasHistory(value))
      return this.close(errorTable.too_large.close, `Such a frame may have ${maxSmallFrameBytes} bytes.`);
    try {
      await this.#perform(parseFrame(value));
    } catch (error) {
      this.#refuse(this.#toRefusal(error), value);
    }
  }

  #refuse(refusal: Refusal, value: unknown): void {
    const wire = this.#wire ?? this.#open(isAiSdkFrame(value));
    (wire.seed ?? wire.aiSdk).refuse(refusal, requestIdOf(value));
    // Whoever has never said anything we understand is no client of ours.
    if (!this.#hasSpoken) this.close(errorTable.invalid.close, refusal.message);
  }

  #toRefusal(error: unknown): Refusal {
    if (error instanceof BridgeError) return { code: error.code, message: error.message };
    this.#shared.logger.error("A frame failed.", { error: error instanceof Error ? error.stack : String(error) });
    return { code: "internal", message: internalSentence };
  }

  async #perform(frame: ClientFrame): Promise<void> {
    const { bridge, sent, arrivals } = this.#shared;
    const { owner } = this.#handshake;
    const { seed, aiSdk } = this.#wireFor(frame);
    const submit = async (chat: string, submission: Parameters<Bridge["submit"]>[2]) => {
      const reply = await bridge.submit(owner, chat, submission, { live: true });
      arrivals.announce(owner, chat);
      return reply;
    };
    switch (frame.type) {
      case "message": {
        // The seeds' frames name no chat: such a socket has one of its own.
        const { id: chat = seed!.chat ?? crypto.randomUUID(), requestId } = frame;
        const submission = interpret(frame, () => crypto.randomUUID());
        if (submission.type === "regenerate") {
          const again = await sent.once(owner, requestId, () => submit(chat, submission));
          return seed!.reply(again, { chat, requestId });
        }
        if (submission.type === "answers") return seed!.reply(await submit(chat, submission), { chat, requestId });
        const sending = () => submit(chat, submission);
        const said = { owner, chat, id: submission.message.id };
        const reply = await (frame.resend ? sent.sendAgain(said, sending) : sent.send(said, sending));
        return seed!.reply(reply, { chat, requestId });
      }
      case "send": {
        const { id: chat, requestId } = frame;
        aiSdk!.check(requestId);
        const submission = interpret(frame, () => crypto.randomUUID());
        return aiSdk!.reply(await submit(chat, submission), { chat, requestId });
      }
      case "tool_result": {
        const { toolCallId, requestId } = frame;
        const answers = [resultToAnswer(toolCallId, frame.result)];
        // An approval's id names its chat, wherever this socket is; a call's id does not.
        const chat = frame.id ?? (await bridge.chatOf(owner, toolCallId)) ?? seed!.chat;
        if (chat === undefined) throw new BridgeError("not_found", `There is no approval ${toolCallId} here.`);
        return seed!.reply(await submit(chat, { type: "answers", answers, aside: true }), { chat, requestId });
      }
      case "attach":
        return seed!.attach(frame.id, frame.after);
      case "resume":
        aiSdk!.check(frame.requestId);
        return aiSdk!.resume(frame.id, frame.requestId);
      case "interrupt":
        return seed!.stop();
      case "abort":
        return aiSdk!.abort(frame.requestId);
      case "ping":
        return seed!.pong(frame.timestamp);
      case "audio_control":
      case "audio_chunk":
        throw new BridgeError("invalid", "This server takes no audio; write instead.");
    }
  }

  /** The wire that the first frame chose. */
  #wireFor(frame: ClientFrame) {
    const isAiSdk = isAiSdkFrame(frame);
    const wire = this.#wire ?? this.#open(isAiSdk);
    if (isAiSdk !== (wire.aiSdk !== undefined))
      throw new BridgeError(
        "invalid",
        `This socket began with the frames of ${isAiSdk ? "the seeds" : "AI SDK"}; a ${frame.type} frame is none of them.`,
      );
    this.#hasSpoken = true;
    return wire;
  }

  #open(isAiSdk: boolean) {
    const { bridge, arrivals } = this.#shared;
    const { owner, confirmation, numbered } = this.#handshake;
    const context: WireContext = {
      bridge,
      owner,
      confirmation,
      arrivals,
      writer: this.#writer,
      toRefusal: (error) => this.#toRefusal(error),
      fail: (error) => this.close(errorTable.internal.close, this.#toRefusal(error).message),
    };
    const wire = isAiSdk ? { aiSdk: new AiSdkWire(context) } : { seed: new SeedWire(context, { numbered }) };
    this.#wire = wire;
    return wire;
  }
}

/** The two frames that bring a chat's history along. */
function hasHistory(value: unknown): boolean {
  const type = typeof value === "object" && value !== null && "type" in value ? value.type : undefined;
  return type === "message" || type === "send";
}

/** A reason may have 123 bytes. */
function shorten(reason: string): string {
  const bytes = Buffer.from(reason);
  if (bytes.length <= 123) return reason;
  return `${new TextDecoder().decode(bytes.subarray(0, 119)).replace(/\uFFFD+$/, "")}…`;
}
