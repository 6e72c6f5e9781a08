import { closeSync, openSync } from "node:fs";
import { DatabaseSync } from "./node-sqlite.ts";

/**
 * One process per database. The lock is an exclusive transaction on a small file of its own, open for the life of the
 * process: the operating system releases it when the process dies, however it dies, and the database beside it stays
 * readable for backups and shells. Returns a function that releases the lock.
 */
export function lockFile(path: string, what: string): () => void {
  createPrivateFile(path);
  const lock = new DatabaseSync(path);
  try {
    lock.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    lock.close();
    if (!isBusy(error)) throw error;
    throw new Error(`${what} is in use by another process. Stop that process first, or choose another path.`, {
      cause: error,
    });
  }
  return () => lock.close();
}

/**
 * Creates the file, readable by its owner only, unless it exists. An existing file must not be opened: on POSIX systems
 * closing any handle to it releases all locks that this process holds on it.
 */
export function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** True for SQLite's error about a lock that another connection holds. The higher bits say which lock it is. */
export function isBusy(error: unknown): boolean {
  return ((error as { errcode?: number }).errcode ?? 0) % 256 === 5;
}
