const pollMs = 1000;

/**
 * Wakes sockets that wait for a chat that does not exist yet: at once if a socket of this server creates it, and every
 * second otherwise, because it may be created by a request or by another process. All waiting sockets share one timer,
 * which runs only while some socket waits.
 */
export class ChatArrivals {
  readonly #waiting = new Set<{ key: string; onArrival: () => void }>();
  #timer: NodeJS.Timeout | undefined;

  /** Calls `onArrival` once, when the caller should look for the chat again. Returns the function that ends the wait. */
  wait(owner: string, chat: string, onArrival: () => void): () => void {
    const waiter = { key: keyOf(owner, chat), onArrival };
    this.#waiting.add(waiter);
    this.#timer ??= setInterval(() => this.#wake(() => true), pollMs).unref();
    return () => this.#remove(waiter);
  }

  /** A chat may have been created. */
  announce(owner: string, chat: string): void {
    if (this.#waiting.size === 0) return;
    const key = keyOf(owner, chat);
    this.#wake((waiter) => waiter.key === key);
  }

  #wake(concerns: (waiter: { key: string }) => boolean): void {
    for (const waiter of [...this.#waiting].filter(concerns)) if (this.#remove(waiter)) waiter.onArrival();
  }

  /** True if it was waiting. */
  #remove(waiter: { key: string; onArrival: () => void }): boolean {
    const isWaiting = this.#waiting.delete(waiter);
    if (this.#waiting.size > 0) return isWaiting;
    clearInterval(this.#timer);
    this.#timer = undefined;
    return isWaiting;
  }
}

function keyOf(owner: string, chat: string): string {
  return JSON.stringify([owner, chat]);
}
