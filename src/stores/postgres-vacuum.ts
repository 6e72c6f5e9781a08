import type { PostgresDatabase } from "./postgres-database.ts";

/** Deletions that follow each other quickly are handled together. */
const gatherMs = 1000;
/** Vacuuming takes at most one part of the time in so many. */
const restFactor = 20;
const tables = ["session", "event", "response", "log", "message", "file", "approval", "audit", "posted"];

/**
 * Frees the rows of deleted chats, so that PostgreSQL writes over them. Until it has, and in its write-ahead log and in
 * backups, their words can still be found by someone who reads the files of the server.
 */
export function postgresVacuum(db: PostgresDatabase) {
  let timer: NodeJS.Timeout | undefined;
  let notBefore = 0;
  let stop: (() => void) | undefined;
  let isClosed = false;

  const vacuum = async () => {
    timer = undefined;
    const began = performance.now();
    try {
      const client = await db.connect();
      stop = () => client.connection.stream.destroy();
      if (isClosed) stop();
      await client.query("SET statement_timeout = 0");
      // Another node may be at it, or autovacuum: what is locked is left to them.
      await client.query(`VACUUM (SKIP_LOCKED) ${tables.join(", ")}`);
      await client.end();
    } catch {
      // The server vacuums by itself too, only later.
    }
    stop = undefined;
    notBefore = performance.now() + (performance.now() - began) * restFactor;
  };

  return {
    /** Call it after a deletion. */
    soon(): void {
      if (timer || isClosed) return;
      timer = setTimeout(() => void vacuum(), Math.max(gatherMs, notBefore - performance.now()));
      timer.unref();
    },
    close(): void {
      isClosed = true;
      clearTimeout(timer);
      stop?.();
    },
  };
}
