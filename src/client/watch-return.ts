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
export function on(target: Partial<EventTarget> | undefined, type: string, listener: () => void): () => void {
  target?.addEventListener?.(type, listener);
  return () => target?.removeEventListener?.(type, listener);
}
