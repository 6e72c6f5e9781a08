import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";

/** How many bytes may wait in this process for one socket before its writers must wait for `flushed`. */
const highWaterBytes = 64 * 1024;

/**
 * Sends frames, and knows when they have left the process. Frames that are sent in the same tick leave in one write. A
 * caller with many frames waits for `flushed` in between, so that a client that stops reading costs a bounded amount of
 * memory.
 */
export class SocketWriter {
  readonly #socket: WebSocket;
  readonly #stream: Duplex;
  readonly #now: () => number;
  #unsent = 0;
  #progressAt = 0;
  #corked = false;
  #waiting: (() => void)[] | undefined;
  #onSent: (() => void) | undefined;

  constructor(socket: WebSocket, stream: Duplex, now: () => number) {
    this.#socket = socket;
    this.#stream = stream;
    this.#now = now;
  }

  send(text: string): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.#cork();
    if (this.#unsent === 0) this.#progressAt = this.#now();
    this.#unsent += 1;
    this.#socket.send(text, (this.#onSent ??= () => this.#sent()));
  }

  /** True if the caller should wait for `flushed` before it sends more. */
  get isFull(): boolean {
    return this.#socket.bufferedAmount > highWaterBytes;
  }

  /** Resolves when everything sent so far has left the process, or the socket is closed. */
  flushed(): Promise<void> {
    if (this.#unsent === 0) return Promise.resolve();
    return new Promise((resolve) => (this.#waiting ??= []).push(resolve));
  }

  /** True if frames wait and none has left for `stallMs`. */
  isStalled(now: number, stallMs: number): boolean {
    return this.#unsent > 0 && now - this.#progressAt >= stallMs;
  }

  /** The socket is closed; wakes all callers that wait for `flushed`. */
  close(): void {
    this.#unsent = 0;
    this.#wake();
  }

  #sent(): void {
    if (this.#unsent === 0) return;
    this.#unsent -= 1;
    this.#progressAt = this.#now();
    if (this.#unsent === 0) this.#wake();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    for (const resolve of waiting ?? []) resolve();
  }

  /** A tick runs after all promises that are ready, and so after a whole batch of the log has been sent. */
  #cork(): void {
    if (this.#corked) return;
    this.#corked = true;
    this.#stream.cork();
    process.nextTick(() => {
      this.#corked = false;
      this.#stream.uncork();
    });
  }
}
