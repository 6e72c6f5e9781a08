import { mkdirSync, realpathSync } from "node:fs";
import { dirname } from "node:path";
import type { SQLInputValue, StatementSync } from "node:sqlite";
import { createPrivateFile, isBusy, lockFile } from "./file-lock.ts";
import { DatabaseSync } from "./node-sqlite.ts";
import { bindsNumbers, withoutNumbers } from "./numbered-parameters.ts";
import type { Row } from "./sqlite-rows.ts";
import { migrate, refuseNewerSchema } from "./sqlite-schema.ts";
import { type Sync, type Write, writeQueue } from "./write-queue.ts";

/**
 * An open database with its lock. Statements are prepared once. Reads never wait. `run` and `runNamed` are for use inside a
 * transaction.
 */
export interface SqliteDatabase {
  one(sql: string, ...values: SQLInputValue[]): Row | undefined;
  all(sql: string, ...values: SQLInputValue[]): Row[];
  /** Returns how many rows changed. */
  run(sql: string, ...values: SQLInputValue[]): number;
  runNamed(sql: string, parameters: Record<string, SQLInputValue>): number;
  /**
   * Runs `work` in a transaction: at once if the database is free, otherwise when it is (`writeQueue`). `work` may run
   * again after a failed attempt, so it must read what it depends on itself. `onCommit` comes before any later write.
   */
  transaction<T>(sync: Sync, work: () => T, onCommit?: () => void): Promise<T>;
  /** The same for work with one writing statement, which is a transaction by itself. */
  writeAlone<T>(sync: Sync, work: () => T, onCommit?: () => void): Promise<T>;
  /** A synced transaction that is shared with others of the same kind: it is made at the end of this turn of the event loop. */
  sharedTransaction<T>(work: () => T): Promise<T>;
  /** Waits for the writes that wait for the database, then closes it. */
  close(): Promise<void>;
}

interface Prepared {
  statement: StatementSync;
  /** Which value is bound to which parameter; undefined if they are bound as they come. */
  order: readonly number[] | undefined;
}

/** How long one transaction keeps the event loop, if it has more than one write. */
const sliceMs = 10;

/** Opens the database at `path`, creates or migrates its tables, and keeps other processes out until `close`. */
export function openSqliteDatabase(path: string, now: number, busyMs: number): SqliteDatabase {
  const { db, unlock } = openLocked(path, now);
  const statements = new Map<string, Prepared>();
  const hasNumbers = bindsNumbers(db);
  let isOpen = true;

  const prepare = (sql: string): Prepared => {
    const known = statements.get(sql);
    if (known) return known;
    const { sql: bound, order } = hasNumbers ? { sql, order: undefined } : withoutNumbers(sql);
    const prepared = { statement: db.prepare(bound), order };
    statements.set(sql, prepared);
    return prepared;
  };

  // Chunks need no sync of their own, everything else does. One connection that switches between transactions (SQLite
  // ignores the pragma inside one) is simpler than two and needs no care about the order of their writes: they share
  // one write-ahead log, so a synced transaction also syncs the chunks before it.
  let level: Sync | undefined;
  const setSync = (sync: Sync) => {
    if (level !== sync) db.exec(`PRAGMA synchronous = ${sync}`);
    level = sync;
  };

  const transact = (batch: readonly Write[]): unknown[] => {
    setSync(batch.some(({ sync }) => sync === "FULL") ? "FULL" : "NORMAL");
    const [first] = batch;
    if (first?.isAlone && batch.length === 1) return [first.work()];
    prepare("BEGIN IMMEDIATE").statement.run();
    try {
      const results: unknown[] = [];
      const sliceEnd = performance.now() + sliceMs;
      for (const { work } of batch) {
        results.push(work());
        if (performance.now() > sliceEnd) break;
      }
      prepare("COMMIT").statement.run();
      return results;
    } catch (error) {
      rollBack(db);
      throw error;
    }
  };
  const writes = writeQueue({ busyMs, isBusy, transact });

  return {
    one(sql, ...values) {
      const { statement, order } = prepare(sql);
      return statement.get(...inOrder(values, order));
    },
    all(sql, ...values) {
      const { statement, order } = prepare(sql);
      return statement.all(...inOrder(values, order));
    },
    run(sql, ...values) {
      const { statement, order } = prepare(sql);
      return Number(statement.run(...inOrder(values, order)).changes);
    },
    runNamed: (sql, parameters) => Number(prepare(sql).statement.run(parameters).changes),

    transaction: (sync, work, onCommit) => writes.write({ sync, work, onCommit }),
    writeAlone: (sync, work, onCommit) => writes.write({ sync, work, onCommit, isAlone: true }),
    sharedTransaction: (work) => writes.write({ sync: "FULL", work, isPatient: true }),

    async close() {
      if (!isOpen) return;
      isOpen = false;
      const idle = writes.idle();
      if (idle) await idle;
      statements.clear();
      db.close();
      unlock();
    },
  };
}

function inOrder(values: SQLInputValue[], order: readonly number[] | undefined): SQLInputValue[] {
  return order ? order.map((index) => values[index] ?? null) : values;
}

function openLocked(path: string, now: number): { db: DatabaseSync; unlock: () => void } {
  // SQLite's own names for a database in memory. Here they would become files of these names.
  if (path === "" || path.startsWith(":memory:") || path.startsWith("file:")) {
    throw new TypeError(
      `sqliteStore needs the path of a file, not "${path}". For a store in memory use memoryStore().`,
    );
  }
  mkdirSync(dirname(path), { recursive: true });
  createPrivateFile(path);
  // The real path, so that two links to one database share one lock. SQLite gives the files beside it the same mode.
  const file = realpathSync(path);
  const unlock = lockFile(`${file}.lock`, `The database ${path}`);
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(file);
    refuseNewerSchema(db, path);
    // A shell or a backup may hold the file for a moment. Nothing else runs yet, so opening may wait for it. On macOS only
    // `fullfsync` reaches the disk.
    db.exec("PRAGMA busy_timeout = 2000; PRAGMA journal_mode = WAL; PRAGMA fullfsync = 1; PRAGMA synchronous = FULL");
    // A migration may write a table anew. With foreign keys, dropping the old one would delete what refers to its rows.
    db.exec("PRAGMA secure_delete = ON; PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE");
    migrate(db);
    db.exec("COMMIT; PRAGMA foreign_keys = ON; BEGIN IMMEDIATE");
    // A chat whose deletion was interrupted.
    db.exec("DELETE FROM session WHERE deleted = 1");
    // We hold the lock, so the process that was executing is dead, and its leases need not run out first.
    db.prepare("UPDATE approval SET leaseUntil = ?1, dueAt = ?1 WHERE state = 'executing' AND leaseUntil > ?1").run({
      "?1": now,
    });
    db.exec("COMMIT; PRAGMA busy_timeout = 0");
    return { db, unlock };
  } catch (error) {
    db?.close();
    unlock();
    throw error;
  }
}

/** Some errors have rolled the transaction back already. The caller throws the first error, not one of the rollback. */
function rollBack(db: DatabaseSync): void {
  try {
    db.exec("ROLLBACK");
  } catch {
    // No transaction is open any more.
  }
}
