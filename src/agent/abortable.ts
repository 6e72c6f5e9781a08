/** The promise, or the signal's reason as soon as it aborts: whatever hangs behind it is left to itself. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error);
    const onAbort = () => reject(signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/**
 * Steps through a generator until it ends or the signal aborts. ADK does not always end its own when a tool is running
 * (the response body it waits for never settles after an abort), so the wait itself is what aborts.
 */
export async function* stepThrough<T>(source: AsyncGenerator<T>, signal: AbortSignal): AsyncGenerator<T> {
  for (;;) {
    let next: IteratorResult<T>;
    try {
      next = await abortable(source.next(), signal);
    } catch (error) {
      if (signal.aborted) void source.return(undefined).catch(() => undefined);
      throw error;
    }
    if (next.done) return;
    yield next.value;
  }
}
