/** Calls back when the person or the network comes back: the page is shown again, or the browser goes online. */
export function watchReturn(callback: () => unknown): () => void {
  const watch = new AbortController();
  const { signal } = watch;
  const onVisible = () => {
    if (!isHidden()) callback();
  };
  // Outside browsers there are no such events.
  globalThis.addEventListener?.("online", callback, { signal });
  globalThis.document?.addEventListener("visibilitychange", onVisible, { signal });
  return () => watch.abort();
}

/** True if the person does not see the page. */
export function isHidden(): boolean | undefined {
  return (globalThis as { document?: Document }).document?.hidden;
}
