import { on } from "./watch-return.ts";

/** Calls back when the browser goes online or offline. Returns a function that stops it; does nothing outside browsers. */
export function watchNetwork({ onOnline, onOffline }: NetworkEvents): () => void {
  const stops = [on(globalThis, "online", onOnline), on(globalThis, "offline", onOffline)];
  return () => stops.forEach((stop) => stop());
}

interface NetworkEvents {
  onOnline(this: void): void;
  onOffline(this: void): void;
}
