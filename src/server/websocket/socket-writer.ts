import type { Writable } from "node:stream";
import type { WebSocket } from "ws";
import { textFrames } from "./text-frames.ts";

/** How many bytes may wait in this process for one socket before its writers must wait for `flushed`. */
const highWaterBytes = 64 * 1024;

/**
 * Sends frames, and knows when they have left the process. Frames that are sent in the same tick leave in one write. A
 * caller with many frames waits for `flushed` in between, so that a client that stops reading costs a bounded amount of
 * memory.
 */
export class SocketWriter {
  readonly #socket: WebSocket;
  readonly #stream: Writable;
  readonly #now: () => number;
  /** The frames of this tick, and how long they are. */
  #texts: string[] | undefined;
  #length = 0;
  /** How many writes have not left. */
  #unsent = 0;
  #progressAt = 0;
  #waiting: (() => void)[] | undefined;

  constructor(socket: WebSocket, stream: Writable, now: () => number) {
    this.#socket = socket;
    this.#stream = stream;
    this.#now = now;
  }

  send(text: string): void {
    if (!this.#isOpen) return;
    this.#length += text.length;
    if (this.#texts) return void this.#texts.push(text);
    this.#texts = [text];
    // A tick runs after all promises that are ready, and so after a whole batch of the log has been sent.
    process.nextTick(() => this.write());
  }

  /** Writes the frames of this tick now: a frame of `ws` is to follow them. */
  write(): void {
    const texts = this.#texts;
    this.#texts = undefined;
    this.#length = 0;
    if (!texts || !this.#isOpen) return this.#wakeIfSent();
    if (this.#unsent === 0) this.#progressAt = this.#now();
    this.#unsent += 1;
    this.#stream.write(textFrames(texts), () => this.#sent());
  }

  /** True if the caller should wait for `flushed` before it sends more. */
  get isFull(): boolean {
    return this.#length + this.#stream.writableLength > highWaterBytes;
  }

  /** Resolves when everything sent so far has left the process, or the socket is closed. */
  flushed(): Promise<void> {
    if (this.#unsent === 0 && !this.#texts) return Promise.resolve();
    return new Promise((resolve) => (this.#waiting ??= []).push(resolve));
  }

  /** True if frames wait and none has left for `stallMs`. */
  isStalled(now: number, stallMs: number): boolean {
    return this.#unsent > 0 && now - this.#progressAt >= stallMs;
  }

  /** The socket is closed; wakes all callers that wait for `flushed`. */
  close(): void {
    this.#unsent = 0;
    this.#texts = undefined;
    this.#wake();
  }

  get #isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN;
  }

  #sent(): void {
    if (this.#unsent === 0) return;
    this.#unsent -= 1;
    this.#progressAt = this.#now();
    this.#wakeIfSent();
  }

  #wakeIfSent(): void {
    if (this.#unsent === 0 && !this.#texts) this.#wake();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    for (const resolve of waiting ?? []) resolve();
  }
}
