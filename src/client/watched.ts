export type Watched<T> = ReturnType<typeof watched<T>>;

/** A value that others watch. */
export function watched<T>(value: T) {
  const listeners = new Set<() => void>();
  return {
    get: (): T => value,
    set(next: T): void {
      value = next;
      for (const listener of [...listeners]) listener();
    },
    /** Calls the listener after each change. Returns a function that stops it. */
    subscribe(this: void, listener: () => void): () => void {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
