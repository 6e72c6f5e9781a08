import type { Timers } from "./timers.ts";
import { watchReturn } from "./watch-return.ts";

/** Waits so long; shorter if the person or the network comes back, or if the signal aborts. */
export function waitBeforeRetry(ms: number, signal: AbortSignal, timers: Timers): Promise<void> {
  return new Promise((resolve) => {
    const unwatch = watchReturn(() => end());
    const timer = timers.setTimeout(() => end(), ms);
    const end = () => {
      unwatch();
      timers.clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
  });
}
