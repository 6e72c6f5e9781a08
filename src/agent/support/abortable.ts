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
  try {
    for (;;) {
      signal.throwIfAborted();
      const next = await abortable(source.next(), signal);
      if (next.done) return;
      yield next.value;
      if (isLast(next.value)) return;
    }
  } finally {
    // Not awaited: a source that hangs in its next step would hang here too.
    void source.return(undefined).catch(() => undefined);
  }
}
