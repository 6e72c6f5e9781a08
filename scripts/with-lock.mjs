// Lets one process at a time do something. It runs on any Node that is on PATH (20.20 or newer).
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";

const pollMs = 100;
const longestMs = 10 * 60_000;

/**
 * Waits until no other process has the lock, then works. The lock is a file with the id of the process that has it; the
 * lock of a process that has died is taken over.
 *
 * @template T
 * @param {string} file
 * @param {() => T | Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLock(file, work) {
  const mine = `${file}.${process.pid}`;
  const end = Date.now() + longestMs;
  while (!take(file, mine)) {
    if (Date.now() > end) throw new Error(`Another process has held ${file} for ten minutes. Remove it and try again.`);
    await delay(pollMs);
  }
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

/**
 * @param {string} file
 * @param {string} mine
 */
function take(file, mine) {
  writeFileSync(mine, String(process.pid));
  try {
    // A link is made at once and with its content, and fails if the file exists.
    linkSync(mine, file);
    return true;
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    removeStale(file, mine);
    return false;
  } finally {
    rmSync(mine, { force: true });
  }
}

/**
 * @param {string} file
 * @param {string} mine
 */
function removeStale(file, mine) {
  try {
    if (isAlive(Number(readFileSync(file, "utf8")))) return;
    const aside = `${mine}.stale`;
    renameSync(file, aside);
    // Another process may have removed the old lock and taken a new one since it was read. Put that one back.
    if (isAlive(Number(readFileSync(aside, "utf8")))) linkSync(aside, file);
    rmSync(aside, { force: true });
  } catch (error) {
    // Another process was faster.
    if (!["ENOENT", "EEXIST"].includes(codeOf(error) ?? "")) throw error;
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}

/**
 * @param {unknown} error
 * @returns {string | undefined}
 */
function codeOf(error) {
  return /** @type {NodeJS.ErrnoException} */ (error).code;
}
