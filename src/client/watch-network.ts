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

/** Calls back when the person or the network comes back: the page is shown again, or the browser goes online. */
export function watchReturn(callback: () => void): () => void {
  const { document } = globalThis as { document?: Document };
  const onVisible = () => {
    if (!isHidden()) callback();
  };
  const stop = watchNetwork({ onOnline: callback, onOffline: () => undefined });
  document?.addEventListener("visibilitychange", onVisible);
  return () => {
    stop();
    document?.removeEventListener("visibilitychange", onVisible);
  };
}

/** True if the person does not see the page. */
export function isHidden(): boolean {
  return (globalThis as { document?: Document }).document?.hidden === true;
}
