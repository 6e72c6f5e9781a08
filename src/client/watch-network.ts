/** Calls back when the browser goes online or offline. Returns a function that stops it; does nothing outside browsers. */
export function watchNetwork({ onOnline, onOffline }: NetworkEvents): () => void {
  if (typeof globalThis.addEventListener !== "function") return () => undefined;
  globalThis.addEventListener("online", onOnline);
  globalThis.addEventListener("offline", onOffline);
  return () => {
    globalThis.removeEventListener("online", onOnline);
    globalThis.removeEventListener("offline", onOffline);
  };
}

interface NetworkEvents {
  onOnline(this: void): void;
  onOffline(this: void): void;
}
