import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";

type Row = Record<string, unknown>;

/** The demo's own tables in a PostgreSQL database that several nodes share. */
export interface DemoDatabase {
  /** Throws {@link DatabaseAway} if the database does not reply. The statement may have been carried out then. */
  query(sql: string, values?: readonly unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

/** The database cannot be reached, or did not reply in time. */
export class DatabaseAway extends Error {
  override readonly name = "DatabaseAway";
}

const schema = "adk_stream_protocol_demo";
const timeoutMs = 3000;
const retryMs = 250;

/** Times are milliseconds since 1970, by the clock of the database. */
export const nowSql = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

const tables = `
  BEGIN;
  SELECT pg_advisory_xact_lock(hashtext('${schema}'));
  CREATE SCHEMA IF NOT EXISTS ${schema};
  CREATE TABLE IF NOT EXISTS ${schema}.wallet (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    cents bigint NOT NULL CHECK (cents >= 0),
    round integer NOT NULL DEFAULT 0
  );
  CREATE TABLE IF NOT EXISTS ${schema}.payment (
    number bigint GENERATED ALWAYS AS IDENTITY,
    id text PRIMARY KEY,
    key text NOT NULL UNIQUE,
    cents bigint NOT NULL CHECK (cents > 0),
    recipient text NOT NULL,
    currency text NOT NULL,
    description text NOT NULL,
    at bigint NOT NULL,
    transaction_id text NOT NULL,
    round integer NOT NULL
  );
  CREATE INDEX IF NOT EXISTS payment_round ON ${schema}.payment (round, number);
  CREATE TABLE IF NOT EXISTS ${schema}.deployment (
    key text PRIMARY KEY,
    id text NOT NULL,
    owner text NOT NULL,
    service text NOT NULL,
    environment text NOT NULL,
    ends_at bigint,
    reported boolean NOT NULL DEFAULT false,
    reporting_until bigint NOT NULL DEFAULT 0
  );
  CREATE INDEX IF NOT EXISTS deployment_due ON ${schema}.deployment (ends_at) WHERE NOT reported;
  COMMIT;`;

/** Opens the database and creates what is missing. Several nodes may do so at the same moment. */
export async function openDemoDatabase(url: string): Promise<DemoDatabase> {
  const pool = new pg.Pool({
    connectionString: url,
    max: 4,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    statement_timeout: timeoutMs,
    keepAlive: true,
    options: `-c search_path=${schema}`,
  });
  // The pool replaces a connection that breaks while it is not used.
  pool.on("error", () => undefined);
  const query = async (sql: string, values?: readonly unknown[]): Promise<Row[]> => {
    try {
      const result = await pool.query<Row>(sql, values as unknown[] | undefined);
      return result.rows;
    } catch (error) {
      throw isAway(error) ? new DatabaseAway(sentenceOf(error), { cause: error }) : error;
    }
  };
  try {
    await query(tables);
  } catch (error) {
    await pool.end();
    throw error;
  }
  return { query, close: () => pool.end() };
}

/** Does something that does no harm twice, again and again while the database is away, until the signal ends it. */
export async function untilReached<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof DatabaseAway)) throw error;
      await delay(retryMs, undefined, { signal });
    }
  }
}

/** PostgreSQL's text cannot have this character. */
export function storable(text: string): string {
  return text.replaceAll("\0", "\uFFFD");
}

/**
 * Whether a failure says nothing about the statement: the server stops or starts (57), has no room (53), lost the connection
 * (08) or rolled back because of others (40), or there was no server at all.
 */
function isAway(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code !== "string" || !/^[0-9A-Z]{5}$/.test(code) || /^(?:08|40|53|57)/.test(code);
}

/** An error of a connection may have an empty message. The address is left out, because it may have a password. */
function sentenceOf(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return `The database of DATABASE_URL cannot be reached: ${String(code ?? message)}.`;
}
