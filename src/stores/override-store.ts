import type { Store } from "./store.ts";

/** A store with some methods of its own; it leaves the others to the store below. */
export function overrideStore<S extends Store>(store: S, own: Partial<S>): S {
  /** Methods of the store below. Stores are asked dozens of times for one answer, so each method is bound once. */
  const bound = new WeakMap<object, unknown>();
  return new Proxy(store, {
    get(target, name: keyof Store & keyof S): unknown {
      if (own[name] !== undefined) return own[name];
      const value: unknown = target[name];
      if (typeof value !== "function") return value;
      const known: unknown = bound.get(value) ?? value.bind(target);
      bound.set(value, known);
      return known;
    },
  });
}
