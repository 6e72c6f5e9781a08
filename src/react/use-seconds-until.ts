import { useSyncExternalStore } from "react";

const listeners = new Set<() => void>();
let clock: ReturnType<typeof setInterval> | undefined;

/** One clock for all countdowns of the page. */
function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  clock ??= setInterval(() => listeners.forEach((each) => each()), 500);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(clock);
    clock = undefined;
  };
}

const never = () => () => undefined;

/** The seconds until a time, by the browser's clock; 0 after it. The component is drawn again as they pass. */
export function useSecondsUntil(time: number | undefined): number {
  const seconds = () => (time === undefined ? 0 : Math.max(0, Math.ceil((time - Date.now()) / 1000)));
  return useSyncExternalStore(time === undefined ? never : subscribe, seconds, seconds);
}
