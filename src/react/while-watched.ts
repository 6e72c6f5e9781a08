/** Returns a function that adds a listener and returns one that removes it. The source runs while there are listeners. */
export function whileWatched<Listener>(
  start: (listeners: ReadonlySet<Listener>) => () => void,
): (listener: Listener) => () => void {
  const listeners = new Set<Listener>();
  let stop: (() => void) | undefined;
  return (listener) => {
    listeners.add(listener);
    stop ??= start(listeners);
    return () => {
      listeners.delete(listener);
      if (listeners.size > 0) return;
      stop?.();
      stop = undefined;
    };
  };
}
