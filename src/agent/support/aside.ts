import { AsyncLocalStorage } from "node:async_hooks";

/** Waits for something without the place that the work has among others. */
type Wait = <T>(until: () => Promise<T>) => Promise<T>;

const places = new AsyncLocalStorage<Wait>();

/** Does work that has a place which others wait for, such as one of a few reads at once. `wait` is how it stands aside. */
export function inPlace<T>(wait: Wait, work: () => Promise<T>): Promise<T> {
  return places.run(wait, work);
}

/** Waits for something that takes its time and no work of this process. Others get the place of the caller meanwhile. */
export function aside<T>(until: () => Promise<T>): Promise<T> {
  const wait = places.getStore();
  return wait ? wait(until) : until();
}
