import { BridgeError } from "../protocol/index.ts";

interface WriteQueueOptions {
  /** How long a write may wait for the database. */
  busyMs: number;
  /** True for the error of a write that another program's lock kept out. Such a write has changed nothing. */
  isBusy: (error: unknown) => boolean;
}

/** The writes to a database, in the order in which they were asked for. */
interface WriteQueue {
  /**
   * Makes a write at once, before this returns, if none waits. If the database is locked, it is tried again until
   * `busyMs` are over, and then rejects with `unavailable`. Writes that come meanwhile wait for the ones before.
   */
  write<T>(attempt: () => T): Promise<T>;
  /** Resolves when no write waits; undefined if none does. Each wait is limited, so this is too. */
  idle(): Promise<void> | undefined;
}

interface Waiting {
  /** Makes the write and settles its promise. Throws, and settles nothing, if the database is locked. */
  attempt: () => void;
  reject: (error: unknown) => void;
  until: number;
}

const firstDelayMs = 5;
const maxDelayMs = 100;
/** How long the event loop is kept when many writes have waited. */
const sliceMs = 10;
/** More waiting writes than a server has use for. */
const maxWaiting = 10_000;

/**
 * Another program may hold the write lock of a SQLite file: a shell, a backup. Waiting for it inside SQLite would block the
 * event loop, and with it every chat. So a write that finds the lock taken is tried again later, and reads go on.
 */
export function writeQueue({ busyMs, isBusy }: WriteQueueOptions): WriteQueue {
  const waiting: Waiting[] = [];
  const idleListeners: (() => void)[] = [];
  let delayMs = firstDelayMs;

  const unavailable = (cause?: unknown) =>
    new BridgeError("unavailable", "Another program keeps the database locked. Try again in a moment.", { cause });

  const tryAgain = () => {
    const sliceEnd = performance.now() + sliceMs;
    for (let next = waiting[0]; next; next = waiting[0]) {
      try {
        next.attempt();
        delayMs = firstDelayMs;
      } catch (error) {
        if (performance.now() < next.until) {
          delayMs = Math.min(delayMs * 2, maxDelayMs);
          setTimeout(tryAgain, Math.min(delayMs, Math.max(0, next.until - performance.now())));
          return;
        }
        next.reject(unavailable(error));
      }
      waiting.shift();
      if (performance.now() < sliceEnd || waiting.length === 0) continue;
      setImmediate(tryAgain);
      return;
    }
    for (const listener of idleListeners.splice(0)) listener();
  };

  return {
    write<T>(attempt: () => T): Promise<T> {
      if (waiting.length === 0) {
        try {
          return Promise.resolve(attempt());
        } catch (error) {
          if (!isBusy(error)) return Promise.reject(error);
        }
      }
      if (waiting.length >= maxWaiting) return Promise.reject(unavailable());
      return new Promise<T>((resolve, reject) => {
        const settle = () => {
          try {
            resolve(attempt());
          } catch (error) {
            if (isBusy(error)) throw error;
            reject(error);
          }
        };
        waiting.push({ attempt: settle, reject, until: performance.now() + busyMs });
        if (waiting.length > 1) return;
        delayMs = firstDelayMs;
        setTimeout(tryAgain, Math.min(delayMs, busyMs));
      });
    },

    idle() {
      return waiting.length > 0 ? new Promise<void>((resolve) => idleListeners.push(resolve)) : undefined;
    },
  };
}
