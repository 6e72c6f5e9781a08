import { closeSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

/**
 * One process per database. The lock is an exclusive transaction on a small file of its own, open for the life of the
 * process: the operating system lets go of it when the process dies, however it dies, and the database beside it stays
 * readable for backups and shells. Returns the way to let go.
 */
export function lockFile(path: string, what: string): () => void {
  createPrivateFile(path);
  const lock = new DatabaseSync(path);
  try {
    lock.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    lock.close();
    if (!isBusy(error)) throw error;
    throw new Error(`${what} is in use by another process: stop that one first, or choose another path.`, {
      cause: error,
    });
  }
  return () => lock.close();
}

/**
 * Makes the file, readable by its owner only, unless it is there. A file that is there must not even be opened: on POSIX
 * systems closing any handle to it drops all locks this process holds on it.
 */
export function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

function isBusy(error: unknown): boolean {
  return (error as { errcode?: number }).errcode === 5;
}
