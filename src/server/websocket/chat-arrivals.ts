const pollMs = 1000;

/**
 * Wakes sockets that wait for a chat that does not exist yet: at once if a socket of this server creates it, and every
 * second otherwise, because it may be created by a request or by another process. All waiting sockets share one timer,
 * which runs only while some socket waits.
 */
export class ChatArrivals {
  readonly #waiting = new Set<{ key: string; wake: () => void }>();
  #timer: NodeJS.Timeout | undefined;

  /** Resolves when the caller should look for the chat again, or the signal aborts. */
  async wait(owner: string, chat: string, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    this.#timer ??= setInterval(() => this.#wake(() => true), pollMs).unref();
    await new Promise<void>((resolve) => {
      const waiter = {
        key: keyOf(owner, chat),
        wake: () => {
          signal.removeEventListener("abort", waiter.wake);
          this.#waiting.delete(waiter);
          resolve();
        },
      };
      this.#waiting.add(waiter);
      signal.addEventListener("abort", waiter.wake, { once: true });
    });
    if (this.#waiting.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** A chat may have been created. */
  announce(owner: string, chat: string): void {
    if (this.#waiting.size === 0) return;
    const key = keyOf(owner, chat);
    this.#wake((waiter) => waiter.key === key);
  }

  #wake(concerns: (waiter: { key: string }) => boolean): void {
    for (const waiter of [...this.#waiting]) if (concerns(waiter)) waiter.wake();
  }
}

function keyOf(owner: string, chat: string): string {
  return JSON.stringify([owner, chat]);
}
