/** Calls back when the browser goes online or offline. Returns a function that stops it; does nothing outside browsers. */
export function watchNetwork({ onOnline, onOffline }: NetworkEvents): () => void {
  const watch = new AbortController();
  const { signal } = watch;
  globalThis.addEventListener?.("online", onOnline, { signal });
  globalThis.addEventListener?.("offline", onOffline, { signal });
  return () => watch.abort();
}

interface NetworkEvents {
  onOnline(this: void): void;
  onOffline(this: void): void;
}
