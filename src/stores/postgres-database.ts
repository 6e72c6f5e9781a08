import { createHash } from "node:crypto";
import pg from "pg";
import { isConnectionLost, isRolledBack, readOnlyError, toStoreError } from "./postgres-errors.ts";
import { migratePostgres, schema } from "./postgres-schema.ts";
import type { Row, Value } from "./postgres-rows.ts";
import { toPostgresText } from "./postgres-text.ts";

export interface PostgresDatabaseOptions {
  url: string;
  connections: number;
  timeoutMs: number;
  /** Milliseconds. Without it the clock of the database decides. */
  now?: (() => number) | undefined;
}

/** Statements of one connection. Those that are not awaited are sent together with the next ones. */
export interface Statements {
  query(sql: string, values?: readonly Value[]): Promise<Row[]>;
  /** Several statements as one text. */
  script(sql: string): Promise<void>;
}

/**
 * The connections to the database. Every call ends within a time: a connection that does not answer is destroyed, and its
 * callers get `unavailable`. The first call creates or migrates the tables.
 */
export interface PostgresDatabase {
  /** A statement that may be carried out twice without harm: it is made again on another connection if one is lost. */
  query(sql: string, values?: readonly Value[], options?: { once?: boolean; timeoutMs?: number }): Promise<Row[]>;
  /** Several statements in one transaction. `work` may run again if the server has rolled it back. */
  transaction<T>(work: (statements: Statements) => Promise<T>): Promise<T>;
  /** The same, and what is asked for later in this process waits for it. */
  transactionFirst<T>(work: (statements: Statements) => Promise<T>): Promise<T>;
  /** Statements of one connection without a transaction. */
  session<T>(work: (statements: Statements) => Promise<T>): Promise<T>;
  /** The time for SQL: `$n` of {@link sqlNow}. Null lets the database look at its own clock. */
  time(): number | null;
  /** The database's clock as far as this process knows it. */
  now(): number;
  /** Throws `unavailable` unless the database answers and can be written to. */
  check(): Promise<void>;
  /** Compares this process's clock with the one of the database. */
  measureClock(): Promise<void>;
  /** A connection of its own, which is not given back. */
  connect(): Promise<pg.Client>;
  /** Shortens the time that a statement may take, so that a lost connection is noticed within a lease. */
  keepWithin(leaseMs: number): void;
  close(): Promise<void>;
}

/** SQL for the time in milliseconds: the parameter, or the database's clock if that is null. */
export function sqlNow(parameter: number): string {
  return `coalesce($${parameter}::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)`;
}

/**
 * Every statement of ours finds its rows by an index. Each is planned once: planning a large one takes longer than its work,
 * and a plan that was made for empty tables must not read whole tables later.
 */
const planning = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET jit = off";

/** How often a transaction is made again that the server rolled back because of another one. */
const attempts = 5;

export function openPostgresDatabase(options: PostgresDatabaseOptions): PostgresDatabase {
  let timeoutMs = options.timeoutMs;
  let offset = 0;
  let opened: Promise<void> | undefined;
  /** What has to be done before other statements. */
  let gate: Promise<unknown> | undefined;
  let closed: Promise<void> | undefined;
  const names = new Map<string, string>();
  const connection = {
    connectionString: options.url,
    connectionTimeoutMillis: timeoutMs,
    keepAlive: true,
    pipeline: true,
    types: { getTypeParser },
  };
  // The pool waits for what this returns, although its types say `void`.
  const prepare: (client: pg.ClientBase) => unknown = async (client) => {
    const settings = `SET search_path = ${schema}; SET client_min_messages = warning;
      SET statement_timeout = ${timeoutMs}; SET idle_in_transaction_session_timeout = ${timeoutMs}; ${planning}`;
    const ask = (text: string) => {
      const question = { text, query_timeout: timeoutMs };
      return client.query<Row>(question);
    };
    // A server that follows another one may be late with what it has, and never takes what we write.
    const [, { rows }] = await Promise.all([ask(settings), ask(readOnlySql)]);
    refuseReadOnly(rows);
  };
  const pool = new pg.Pool({
    ...connection,
    max: options.connections,
    idleTimeoutMillis: 60_000,
    onConnect: prepare,
  });
  // An idle connection that breaks is removed by the pool. Without a listener the process would end.
  pool.on("error", () => undefined);

  const statementsOf = (client: pg.ClientBase, ms?: number): Statements => ({
    async query(sql, values = []) {
      const text = {
        ...{ name: nameOf(sql), text: sql, values: values.map(toParameter) },
        query_timeout: ms ?? timeoutMs,
      };
      try {
        const { rows, rowCount } = await client.query<Row>(text);
        return rows.length > 0 || !rowCount ? rows : Array.from({ length: rowCount }, () => ({}));
      } catch (error) {
        throw toStoreError(error);
      }
    },
    async script(sql) {
      try {
        await client.query(sql);
      } catch (error) {
        throw toStoreError(error);
      }
    },
  });

  /** A name makes the server keep the plan of a statement. */
  const nameOf = (sql: string): string => {
    const known = names.get(sql) ?? createHash("sha256").update(sql).digest("base64url").slice(0, 24);
    names.set(sql, known);
    return known;
  };

  const withClient = async <T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> => {
    if (closed) throw new Error("The store is closed.");
    let client;
    try {
      client = await pool.connect();
    } catch (error) {
      throw toStoreError(error);
    }
    // The connection may break between two statements.
    client.on("error", ignore);
    try {
      const result = await work(client);
      client.off("error", ignore);
      client.release();
      return result;
    } catch (error) {
      client.off("error", ignore);
      const isBroken = isConnectionLost(error);
      client.release(isBroken);
      throw error;
    }
  };

  const open = () =>
    (opened ??= withClient(async (client) => {
      await migratePostgres(statementsOf(client));
      await measure(statementsOf(client));
    }).catch((error: unknown) => {
      opened = undefined;
      throw error;
    }));

  const ready = async () => {
    await gate;
    await open();
  };

  const transaction = async <T>(work: (statements: Statements) => Promise<T>): Promise<T> => {
    await open();
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await withClient((client) => inTransaction(statementsOf(client), work));
      } catch (error) {
        if (!isRolledBack(error) || attempt === attempts) throw error;
      }
    }
  };

  const measure = async (statements: Pick<Statements, "query">) => {
    if (options.now) return;
    const sent = Date.now();
    const [row] = await statements.query(`SELECT ${sqlNow(1)} AS now`, [null]);
    offset = Number(row?.["now"]) - (sent + Date.now()) / 2;
  };

  const database: PostgresDatabase = {
    async query(sql, values, { once = false, timeoutMs: ms } = {}) {
      await ready();
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await withClient((client) => statementsOf(client, ms).query(sql, values));
        } catch (error) {
          const isLost = isConnectionLost(error) && !once && attempt === 1;
          if (!isLost && !(isRolledBack(error) && attempt < attempts)) throw error;
        }
      }
    },

    async session(work) {
      await ready();
      return withClient((client) => work(statementsOf(client)));
    },

    async transaction(work) {
      await ready();
      return transaction(work);
    },

    async transactionFirst(work) {
      const done = transaction(work);
      const earlier = gate;
      const own = Promise.allSettled([earlier, done]).then(() => {
        if (gate === own) gate = undefined;
      });
      gate = own;
      return done;
    },

    time: () => (options.now ? Math.floor(options.now()) : null),
    now: () => Math.floor(options.now ? options.now() : Date.now() + offset),

    check: async () => refuseReadOnly(await database.query(readOnlySql)),

    measureClock: () => measure(database),

    async connect() {
      await open();
      const client = new pg.Client(connection);
      client.on("error", ignore);
      try {
        await client.connect();
        await prepare(client);
      } catch (error) {
        client.connection.stream.destroy();
        throw toStoreError(error);
      }
      return client;
    },

    keepWithin(leaseMs) {
      timeoutMs = Math.max(200, Math.min(timeoutMs, Math.floor(leaseMs / 2)));
    },

    async close() {
      closed ??= pool.end();
      await closed;
    },
  };
  return database;
}

async function inTransaction<T>(statements: Statements, work: (statements: Statements) => Promise<T>): Promise<T> {
  const begun = statements.query("BEGIN");
  let result: T;
  try {
    // Not awaited alone: it travels with the first statement of the work.
    [, result] = await Promise.all([begun, work(statements)]);
  } catch (error) {
    if (!isConnectionLost(error)) await statements.query("ROLLBACK");
    throw error;
  }
  await statements.query("COMMIT");
  return result;
}

const readOnlySql = "SHOW transaction_read_only";

function refuseReadOnly([row]: readonly Row[]): void {
  if (row?.["transaction_read_only"] === "on") throw readOnlyError();
}

/** PostgreSQL's number for its type `bigint`. */
const int8 = 20;

/** Whole numbers come as numbers: none of ours is too large for that. */
function getTypeParser(oid: number, format?: unknown): unknown {
  return oid === int8 ? Number : pg.types.getTypeParser(oid, format as "text");
}

function toParameter(value: Value): unknown {
  if (typeof value === "string") return toPostgresText(value);
  if (Array.isArray(value)) return value.map((each) => (typeof each === "string" ? toPostgresText(each) : each));
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value;
}

function ignore(): void {}
