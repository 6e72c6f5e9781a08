const pollMs = 1000;

/**
 * Wakes whoever waits for a chat that does not exist yet: at once when a socket made it, and every second otherwise,
 * because it may have come from elsewhere. One timer for all, and none while nobody waits.
 */
export class ChatArrivals {
  readonly #waiting = new Set<{ key: string; wake: () => void }>();
  #timer: NodeJS.Timeout | undefined;

  /** When it is worth looking again, or the signal aborts. */
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

  announce(owner: string, chat: string): void {
    const key = keyOf(owner, chat);
    if (this.#waiting.size > 0) this.#wake((waiter) => waiter.key === key);
  }

  #wake(concerns: (waiter: { key: string }) => boolean): void {
    for (const waiter of [...this.#waiting]) if (concerns(waiter)) waiter.wake();
  }
}

function keyOf(owner: string, chat: string): string {
  return JSON.stringify([owner, chat]);
}
