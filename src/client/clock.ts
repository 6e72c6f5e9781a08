import type { Timers } from "./timers.ts";

/** The time, as a test may want it. */
export interface ClockOptions {
  /** The clock, in milliseconds. Default `Date.now`. */
  now?: (() => number) | undefined;
  /** Spreads the attempts of many clients to try again. Default `Math.random`. */
  random?: (() => number) | undefined;
  /** For tests that hold the time. Default: the global timers. */
  timers?: Timers | undefined;
}

/** The clock of these options. */
export function clockOf({ now = Date.now, random = Math.random, timers = globalThis }: ClockOptions) {
  return { now, random, timers };
}
