import { AsyncLocalStorage } from "node:async_hooks";

/** Waits for something without the slot that the work occupies. */
type Wait = <T>(until: () => Promise<T>) => Promise<T>;

const places = new AsyncLocalStorage<Wait>();

/**
 * Runs work that occupies a slot, of which there are few (`FairReads`). `wait` gives the slot up while something is awaited,
 * and then takes one again.
 */
export function inPlace<T>(wait: Wait, work: () => Promise<T>): Promise<T> {
  return places.run(wait, work);
}

/**
 * Waits for something that needs time but nothing of this process, such as another node. The caller's slot is free
 * meanwhile.
 */
export function aside<T>(until: () => Promise<T>): Promise<T> {
  const wait = places.getStore();
  return wait ? wait(until) : until();
}
