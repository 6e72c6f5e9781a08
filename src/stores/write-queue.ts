import { BridgeError } from "../protocol/index.ts";

/** How a transaction ends: `FULL` survives a power cut, `NORMAL` survives the end of the process. */
export type Sync = "NORMAL" | "FULL";

/** One write. */
export interface Write<T = unknown> {
  sync: Sync;
  /** May run again after an attempt that failed, so it must read what it depends on itself. */
  work: () => T;
  /** True for work with one writing statement, which is a transaction by itself. */
  isAlone?: boolean;
  /** True for a write that waits for others until the end of this turn of the event loop. */
  isPatient?: boolean;
  /** Called when the write is in the database, before any later write. */
  onCommit?: (() => void) | undefined;
}

interface WriteQueueOptions {
  /** How long a write may wait for the database. */
  busyMs: number;
  /** True for the error of a write that another program's lock kept out. Such a write has changed nothing. */
  isBusy: (error: unknown) => boolean;
  /**
   * Makes writes in one transaction and returns their results. It may leave out the last ones. Throws, and changes nothing,
   * if one of them fails.
   */
  transact: (writes: readonly Write[]) => unknown[];
}

/** The writes to a database, in the order in which they were asked for. */
interface WriteQueue {
  /**
   * Makes a write at once, before this returns, together with patient ones that wait. A patient one is made at the end of
   * this turn of the event loop at the latest. If the database is locked, a write is tried again until `busyMs` are over,
   * and then rejects with `unavailable`. Writes that come meanwhile wait for the ones before.
   */
  write<T>(write: Write<T>): Promise<T>;
  /** Resolves when no write waits; undefined if none does. Each wait is limited, so this is too. */
  idle(): Promise<void> | undefined;
}

interface Waiting extends Write {
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
  until: number;
}

const firstDelayMs = 5;
const maxDelayMs = 100;
/** How many writes share a transaction. */
const maxBatch = 64;
/** More waiting writes than a server has use for. */
const maxWaiting = 10_000;

/**
 * Patient writes share a transaction, because each transaction that is synced waits for the disk. None is acknowledged
 * before the transaction is in the database. If one of them fails, each is made by itself, so that it cannot take the others
 * with it. A transaction has no pause, so no reader sees what is not in the database yet.
 *
 * Another program may hold the write lock of a SQLite file: a shell, a backup. Waiting for it inside SQLite would block the
 * event loop, and with it every chat. So a write that finds the lock taken is tried again later, and reads go on.
 */
export function writeQueue({ busyMs, isBusy, transact }: WriteQueueOptions): WriteQueue {
  const waiting: Waiting[] = [];
  const idleListeners: (() => void)[] = [];
  let delayMs = firstDelayMs;
  /** True while the writes that wait are made later, because the database is locked or there are too many. */
  let isLate = false;
  let scheduled: NodeJS.Immediate | undefined;
  /** How many writes of the next turns are made one by one, because one of them has failed. */
  let alone = 0;

  const unavailable = (cause?: unknown) =>
    new BridgeError("unavailable", "Another program keeps the database locked. Try again in a moment.", { cause });

  /** Makes the writes that wait, those of one transaction. */
  const flush = () => {
    isLate = false;
    if (scheduled) clearImmediate(scheduled);
    scheduled = undefined;
    const batch = waiting.slice(0, alone > 0 ? 1 : maxBatch);
    const [first] = batch;
    if (!first) return reportIdle();
    try {
      const results = transact(batch);
      delayMs = firstDelayMs;
      const done = waiting.splice(0, results.length);
      alone = Math.max(0, alone - done.length);
      for (const { onCommit } of done) onCommit?.();
      for (const [index, { resolve }] of done.entries()) resolve(results[index]);
    } catch (error) {
      if (isBusy(error)) return waitForLock(error);
      if (batch.length > 1) alone = batch.length;
      else {
        waiting.shift();
        alone = Math.max(0, alone - 1);
        first.reject(error);
      }
    }
    if (waiting.length === 0) return reportIdle();
    isLate = true;
    scheduled = setImmediate(flush);
  };

  const reportIdle = () => {
    for (const listener of idleListeners.splice(0)) listener();
  };

  const waitForLock = (error: unknown) => {
    const now = performance.now();
    while (waiting[0] && waiting[0].until <= now) waiting.shift()?.reject(unavailable(error));
    const [first] = waiting;
    if (!first) return reportIdle();
    isLate = true;
    delayMs = Math.min(delayMs * 2, maxDelayMs);
    setTimeout(flush, Math.min(delayMs, Math.max(0, first.until - now)));
  };

  return {
    write<T>(write: Write<T>): Promise<T> {
      if (waiting.length >= maxWaiting) return Promise.reject(unavailable());
      return new Promise<T>((resolve, reject) => {
        const settle = resolve as (result: unknown) => void;
        waiting.push({ ...write, resolve: settle, reject, until: performance.now() + busyMs });
        if (isLate) return;
        if (!write.isPatient || waiting.length >= maxBatch) flush();
        else scheduled ??= setImmediate(flush);
      });
    },

    idle() {
      return waiting.length > 0 ? new Promise<void>((resolve) => idleListeners.push(resolve)) : undefined;
    },
  };
}
