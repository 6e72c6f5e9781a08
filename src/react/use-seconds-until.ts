import { useSyncExternalStore } from "react";
import { whileWatched } from "./while-watched.ts";

/** One clock for all countdowns of the page. */
const subscribe = whileWatched<() => void>((listeners) => {
  const clock = setInterval(() => listeners.forEach((each) => each()), 500);
  return () => clearInterval(clock);
});

const never = () => () => undefined;

/** The seconds until a time, by the browser's clock; 0 after it. The component is drawn again as they pass. */
export function useSecondsUntil(time: number | undefined): number {
  const seconds = () => (time === undefined ? 0 : Math.max(0, Math.ceil((time - Date.now()) / 1000)));
  return useSyncExternalStore(time === undefined ? never : subscribe, seconds, seconds);
}
