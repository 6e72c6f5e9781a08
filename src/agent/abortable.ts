/** The promise, or the signal's reason as soon as it aborts: whatever hangs behind it is left to itself. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    // Also where the signal came first: a promise that is left to itself may still reject, and somebody must have looked.
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/**
 * Steps through a generator until it ends or the signal aborts. ADK does not always end its own when a tool is running
 * (the response body it waits for never settles after an abort), so the wait itself is what aborts.
 */
export async function* stepThrough<T>(source: AsyncGenerator<T>, signal: AbortSignal): AsyncGenerator<T> {
  try {
    for (;;) {
      signal.throwIfAborted();
      const next = await abortable(source.next(), signal);
      if (next.done) return;
      yield next.value;
    }
  } finally {
    // Not awaited: a source that hangs in its next step would hang here too.
    void source.return(undefined).catch(() => undefined);
  }
}
