import { Worker } from "node:worker_threads";
import type { SqliteDatabase } from "./sqlite-database.ts";

interface ScrubberOptions {
  db: SqliteDatabase;
  /** The database file. */
  path: string;
}

interface Scrubber {
  /** Call it after a deletion. */
  soon(): void;
  /** Resolves when the words of all deletions are gone, or cannot be removed now. */
  close(): Promise<void>;
}

/** Deletions that follow each other quickly are handled together. */
const gatherMs = 50;
/** While the file is written anew, other writes wait. So this takes at most one part of the time in so many. */
const restFactor = 20;
/** When to try again after a failure: another program reads or writes the file. */
const retryMs = 1000;

/**
 * Removes the words of deleted chats from the files. `secure_delete` overwrites what is deleted where it is, but SQLite moves
 * rows between pages when it balances its trees, and copies stay in the unused part of the old pages. Only `VACUUM`
 * removes those: it writes the whole file anew. After it the write-ahead log is emptied, which has the old pages too.
 *
 * This happens in a thread of its own. Readers are not held up, and writes wait in the write queue.
 */
export function sqliteScrubber({ db, path }: ScrubberOptions): Scrubber {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<boolean> | undefined;
  let notBefore = 0;
  let isClosing = false;
  const newest = () => Number(db.one("SELECT max(id) AS newest FROM deletion")?.["newest"] ?? 0);

  const scrub = async (): Promise<boolean> => {
    const last = newest();
    if (last === 0) return true;
    const began = performance.now();
    const isDone = await vacuum(path);
    const took = performance.now() - began;
    notBefore = performance.now() + took * restFactor;
    // Deletions that came meanwhile have a higher number, and are next.
    if (isDone) await db.transaction("NORMAL", () => db.run("DELETE FROM deletion WHERE id <= ?", last));
    return isDone;
  };

  const schedule = (ms: number) => {
    if (timer || running || isClosing) return;
    timer = setTimeout(() => void start(), Math.max(ms, notBefore - performance.now()));
    timer.unref();
  };

  const start = async (): Promise<boolean> => {
    clearTimeout(timer);
    timer = undefined;
    const attempt = (running ??= scrub().catch(() => false));
    const isDone = await attempt;
    if (running === attempt) running = undefined;
    if (!isClosing && (!isDone || newest() > 0)) schedule(isDone ? gatherMs : retryMs);
    return isDone;
  };

  if (newest() > 0) schedule(gatherMs);
  return {
    soon: () => schedule(gatherMs),
    async close() {
      if (isClosing) return;
      isClosing = true;
      await running;
      if (newest() > 0) await start();
    },
  };
}

/** In a worker, from text: the package is one folder of modules, and a file of its own would need another name in each form of it. */
const script = `
  const { DatabaseSync } = require("node:sqlite");
  const { parentPort, workerData } = require("node:worker_threads");
  const db = new DatabaseSync(workerData);
  try {
    db.exec("PRAGMA busy_timeout = 5000; PRAGMA secure_delete = ON; VACUUM");
    parentPort.postMessage(db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get().busy === 0);
  } finally {
    db.close();
  }
`;

/** Writes the file anew. False if another program kept the old pages from being removed. */
function vacuum(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(script, { eval: true, workerData: path });
    worker.unref();
    let isDone = false;
    worker.once("message", (done: boolean) => (isDone = done));
    worker.once("error", reject);
    worker.once("exit", () => resolve(isDone));
  });
}
