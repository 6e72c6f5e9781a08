/** Who is told of changes. */
export class Listeners {
  readonly #all = new Set<() => void>();

  /** Returns a function that stops it. */
  subscribe = (listener: () => void): (() => void) => {
    this.#all.add(listener);
    return () => void this.#all.delete(listener);
  };

  notify = (): void => {
    for (const listener of [...this.#all]) listener();
  };
}
