import type { Timers } from "./timers.ts";

/** A pause that lasts until a time has passed or `end` is called. */
export function pauseWith(timers: Timers) {
  let timer: unknown;
  let over: () => void = () => undefined;
  const end = (): void => {
    timers.clearTimeout(timer);
    over();
  };
  /** From now on it lasts so long. */
  const last = (ms: number): void => {
    timers.clearTimeout(timer);
    timer = timers.setTimeout(end, ms);
  };
  return {
    /** Begins a pause. Without a time it lasts until `end`. */
    begin(ms?: number): Promise<void> {
      if (ms !== undefined) last(ms);
      return new Promise((resolve) => (over = resolve));
    },
    last,
    end,
  };
}
