import type { Store } from "./store.ts";

/** A store with some methods of its own; it leaves the others to the store below. */
export function overrideStore<S extends Store>(store: S, own: Partial<S>): S {
  return new Proxy(store, {
    get(target, name: keyof Store & keyof S): unknown {
      const value: unknown = own[name] ?? target[name];
      return typeof value === "function" && !(name in own) ? value.bind(target) : value;
    },
  });
}
