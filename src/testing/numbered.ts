/**
 * Values by number, for a test that waits for the third of something whether or not it has come. What was forgotten can
 * no longer be waited for.
 */
export interface Numbered<T> {
  /** Makes the value known to those who wait for it, now or later. */
  settle(number: number, value: T): void;
  /** The value with this number, when it is known. Rejects when it was forgotten. */
  wait(number: number): Promise<T>;
  /** Forgets all values up to this number. Those who wait already still get theirs. */
  forget(upTo: number): void;
  /** Rejects for those who wait. */
  giveUp(reason: Error): void;
}

/** Creates an empty `Numbered`. `explainForgotten` is the sentence with which waiting for a forgotten number rejects. */
export function numbered<T>(explainForgotten: (number: number) => string): Numbered<T> {
  const entries = new Map<number, Entry<T>>();
  let forgotten = 0;

  function open(number: number): Entry<T> {
    const entry = entries.get(number) ?? createEntry<T>();
    entries.set(number, entry);
    return entry;
  }

  return {
    settle: (number, value) => {
      if (number > forgotten) {
        open(number).settle(value);
        return;
      }
      entries.get(number)?.settle(value);
      entries.delete(number);
    },
    wait: (number) => {
      if (!Number.isInteger(number) || number < 1) {
        return Promise.reject(new RangeError(`Numbers are counted from one; ${number} was given.`));
      }
      const known = entries.get(number);
      if (known === undefined && number <= forgotten) return Promise.reject(new Error(explainForgotten(number)));
      return (known ?? open(number)).promise;
    },
    forget: (upTo) => {
      for (let number = forgotten + 1; number <= upTo; number += 1) {
        if (entries.get(number)?.isSettled() === true) entries.delete(number);
      }
      forgotten = Math.max(forgotten, upTo);
    },
    giveUp: (reason) => entries.forEach(({ reject }) => reject(reason)),
  };
}

interface Entry<T> {
  readonly promise: Promise<T>;
  readonly settle: (value: T) => void;
  readonly reject: (reason: Error) => void;
  readonly isSettled: () => boolean;
}

function createEntry<T>(): Entry<T> {
  let isSettled = false;
  let resolve: (value: T) => void = () => undefined;
  let reject: (reason: Error) => void = () => undefined;
  const promise = new Promise<T>((onValue, onReason) => {
    resolve = onValue;
    reject = onReason;
  });
  // Without this, a rejection that no test waits for would end the process.
  promise.catch(() => undefined);
  return {
    promise,
    settle: (value) => {
      isSettled = true;
      resolve(value);
    },
    reject,
    isSettled: () => isSettled,
  };
}
