/** Promises by number, for those who wait for the third of something that may have come already. */
export interface Numbered<T> {
  settle(number: number, value: T): void;
  wait(number: number): Promise<T>;
  /** Everyone still waiting is told why nothing will come. */
  giveUp(reason: Error): void;
}

export function numbered<T>(): Numbered<T> {
  const entries = new Map<number, Entry<T>>();
  const entry = (number: number): Entry<T> => {
    const known = entries.get(number) ?? createEntry<T>();
    entries.set(number, known);
    return known;
  };
  return {
    settle: (number, value) => entry(number).resolve(value),
    wait: (number) => entry(number).promise,
    giveUp: (reason) => entries.forEach(({ reject }) => reject(reason)),
  };
}

interface Entry<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: Error) => void;
}

function createEntry<T>(): Entry<T> {
  let resolve!: (value: T) => void;
  let reject!: (reason: Error) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  // Nobody may be waiting; whoever is still hears of the rejection.
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}
