import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";

/** So much may wait in this process for one socket before whoever writes to it has to wait too. */
const highWaterBytes = 64 * 1024;

/**
 * Sends frames, and knows when they have left the process. Frames of one moment leave in one write. Whoever writes much
 * waits for `flushed` in between, so that a reader that stops reading costs a bounded amount of memory.
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

  /** True when it is time to wait for `flushed`. */
  get isFull(): boolean {
    return this.#socket.bufferedAmount > highWaterBytes;
  }

  /** When everything sent so far has left the process, or never will. */
  flushed(): Promise<void> {
    if (this.#unsent === 0) return Promise.resolve();
    return new Promise((resolve) => (this.#waiting ??= []).push(resolve));
  }

  /** True when something waits and nothing has left for so long. */
  isStalled(now: number, stallMs: number): boolean {
    return this.#unsent > 0 && now - this.#progressAt >= stallMs;
  }

  /** The socket is gone: nobody waits any more. */
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

  /** Ticks come behind all promises that are ready, and so behind a whole batch of the log. */
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
