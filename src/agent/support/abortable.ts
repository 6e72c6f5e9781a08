/** Resolves with the promise, or rejects with the signal's reason as soon as it aborts. The promise is not cancelled. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    // Handled even after an abort: the promise may still reject, which must not become an unhandled rejection.
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** {@link abortable} for many promises and one signal, one promise at a time: it listens to the signal once. */
export class AbortableWaits {
  readonly #signal: AbortSignal;
  #reject: ((reason: Error) => void) | undefined;
  readonly #onAbort = () => this.#reject?.(this.#signal.reason as Error);

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  wait<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      if (this.#signal.aborted) this.#onAbort();
      promise.then(resolve, reject);
    });
  }

  /** Stops listening to the signal. */
  end(): void {
    this.#signal.removeEventListener("abort", this.#onAbort);
  }
}

/** Does work that waits for many promises, one at a time, and may be aborted at each. */
export async function withWaits<T>(signal: AbortSignal, work: (waits: AbortableWaits) => Promise<T>): Promise<T> {
  const waits = new AbortableWaits(signal);
  try {
    return await work(waits);
  } finally {
    waits.end();
  }
}

/**
 * Steps through a generator until it ends, the signal aborts, or `isLast` is true for a value. ADK's generators do not
 * always end after an abort while a tool runs (the response body they wait for never settles), so the wait itself is
 * aborted.
 */
export async function* stepThrough<T>(
  source: AsyncGenerator<T>,
  signal: AbortSignal,
  isLast: (value: T) => boolean = () => false,
): AsyncGenerator<T> {
  const waits = new AbortableWaits(signal);
  try {
    for (;;) {
      signal.throwIfAborted();
      const next = await waits.wait(source.next());
      if (next.done) return;
      yield next.value;
      if (isLast(next.value)) return;
    }
  } finally {
    waits.end();
    // Not awaited: a source that hangs in its next step would hang here too.
    void source.return(undefined).catch(() => undefined);
  }
}
