import type { GeminiResponseEnd } from "./script.ts";

/** A response that can be stopped while it is under way. */
export interface Stoppable {
  /** Waits for the promise. Rejects with `stopped` as soon as the response is stopped. */
  unlessStopped<T>(promise: PromiseLike<T>): Promise<T>;
  stop(end: GeminiResponseEnd): void;
}

/** What `unlessStopped` rejects with. */
export const stopped = new Error("The response was stopped.");

/** A response that calls `onStop` when it is stopped. */
export function createStoppable(onStop: (end: GeminiResponseEnd) => void): Stoppable {
  let isStopped = false;
  let reject: (reason: Error) => void = () => undefined;
  const stop = new Promise<never>((_, onReason) => {
    reject = onReason;
  });
  stop.catch(() => undefined);
  return {
    unlessStopped: async (promise) => {
      const value = await Promise.race([promise, stop]);
      // The promise may have won the race just before the stop; the next word would then follow the interruption.
      if (isStopped) throw stopped;
      return value;
    },
    stop: (end) => {
      isStopped = true;
      reject(stopped);
      onStop(end);
    },
  };
}
