/** Calls back when the browser goes online or offline. Returns a function that stops it; does nothing outside browsers. */
export function watchNetwork({ onOnline, onOffline }: NetworkEvents): () => void {
  const stops = [on(globalThis, "online", onOnline), on(globalThis, "offline", onOffline)];
  return () => stops.forEach((stop) => stop());
}

interface NetworkEvents {
  onOnline(this: void): void;
  onOffline(this: void): void;
}

/** Calls back when the person or the network comes back: the page is shown again, or the browser goes online. */
export function watchReturn(callback: () => void): () => void {
  const onVisible = () => {
    if (!isHidden()) callback();
  };
  const stops = [on(globalThis, "online", callback), on(globalThis.document, "visibilitychange", onVisible)];
  return () => stops.forEach((stop) => stop());
}

/** True if the person does not see the page. */
export function isHidden(): boolean {
  return (globalThis as { document?: Document }).document?.hidden === true;
}

/** Listens to an event. Returns a function that stops it; does nothing for what has no events, as outside browsers. */
function on(target: Partial<EventTarget> | undefined, type: string, listener: () => void): () => void {
  target?.addEventListener?.(type, listener);
  return () => target?.removeEventListener?.(type, listener);
}
