import { type ClockOptions, clockOf } from "./clock.ts";
import { watchReturn } from "./watch-return.ts";

interface SilenceOptions extends ClockOptions {
  silenceMs?: number | undefined;
}

/**
 * The same bytes. Ends the connection when none come for a while, for example after the computer has slept, and when
 * `isUnseen` says with a byte that the connection is to be given up.
 */
export function watchSilence(
  body: ReadableStream<Uint8Array>,
  connection: AbortController,
  options: SilenceOptions,
  isUnseen: () => boolean,
): ReadableStream<Uint8Array> {
  const { silenceMs = 40_000 } = options;
  const { now, timers } = clockOf(options);
  let timer: unknown;
  let at = 0;
  const listen = () => {
    at = now();
    timers.clearTimeout(timer);
    timer = timers.setTimeout(() => connection.abort(), silenceMs);
    if (isUnseen()) connection.abort();
  };
  listen();
  const unwatch = watchReturn(() => {
    // Timers may have stopped while the computer slept.
    if (now() - at >= silenceMs / 2) connection.abort();
  });
  const over = () => {
    timers.clearTimeout(timer);
    unwatch();
  };
  connection.signal.addEventListener("abort", over, { once: true });
  return body.pipeThrough(
    new TransformStream({
      transform(bytes: Uint8Array, controller) {
        listen();
        controller.enqueue(bytes);
      },
      flush: over,
    }),
    { signal: connection.signal },
  );
}
