import { type ClockOptions, clockOf } from "./clock.ts";
import { watchReturn } from "./watch-return.ts";

export interface PollOptions extends Pick<ClockOptions, "timers"> {
  /** How often the server is asked for what is new. Default 5 seconds. */
  pollMs?: number | undefined;
}

/**
 * Asks the server, while it is open, now and then and when the person or the network comes back. What is asked while a
 * question is on its way is asked once more after it. A question that fails is asked again the next time.
 */
export function poll(ask: () => Promise<void>, options: PollOptions, isPaused?: () => boolean | undefined) {
  const { timers } = clockOf(options);
  let asking: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  let timer: unknown;
  let unwatch: (() => void) | undefined;

  const refresh = (): Promise<void> => {
    if (asking) return (next ??= asking.then(refresh));
    next = undefined;
    timers.clearTimeout(timer);
    const over = () => {
      asking = undefined;
      if (unwatch && !isPaused?.()) timer = timers.setTimeout(() => void refresh(), options.pollMs ?? 5000);
    };
    asking = ask().then(over, over);
    return asking;
  };

  return {
    /** Asks now. Resolves after a question that began after this call. */
    refresh,
    open(): void {
      unwatch ??= watchReturn(refresh);
      void refresh();
    },
    close(): void {
      unwatch?.();
      unwatch = undefined;
      timers.clearTimeout(timer);
    },
  };
}
