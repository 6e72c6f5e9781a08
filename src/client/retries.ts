import { type ClockOptions, clockOf } from "./clock.ts";

const firstDelayMs = 250;
const longestDelayMs = 10_000;

/**
 * How long to wait before the next attempt, after so many failed ones: longer each time, up to a limit, and with some chance
 * in it, so that the pages of a server that restarts do not all come back at once.
 */
export function retryDelay(failures: number, random: () => number): number {
  const longest = Math.min(longestDelayMs, firstDelayMs * 2 ** failures);
  return longest * (0.5 + random() / 2);
}

export interface RetryOptions extends ClockOptions {
  /** How long to try to restore a lost connection. Default 60 seconds. */
  giveUpMs?: number | undefined;
}

/** The attempts to reach a server that does not reply, by a clock, which comes with them. */
export function retries(options: RetryOptions) {
  const { giveUpMs = 60_000 } = options;
  const clock = clockOf(options);
  const { now, random } = clock;
  let since = 0;
  let failures = 0;
  return {
    ...clock,
    /** The server has replied. */
    reset(): void {
      failures = 0;
    },
    /** An attempt has failed. Returns how long to wait before the next one; 0 when it is time to give up. */
    next(): number {
      if (failures === 0) since = now();
      const left = Math.max(0, since + giveUpMs - now());
      return Math.min(left, retryDelay(failures++, random));
    },
  };
}
