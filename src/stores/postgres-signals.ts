import type pg from "pg";
import type { PostgresDatabase } from "./postgres-database.ts";
import { schema } from "./postgres-schema.ts";

/** What one node tells the others. All of it is a hint: what counts is in the tables. */
interface Signal {
  /** The node that tells it. */
  from: string;
  /** Chats whose log has grown, with its last number. */
  log?: Record<string, number>;
  deleted?: string[];
  /** Nodes that something was posted to, or answered. */
  posted?: string[];
}

interface SignalListeners {
  onLog(chat: string, sequence: number): void;
  onDeleted(chat: string): void;
  onPosted(): void;
  /** Looks into the tables for what signals may have missed. */
  poll(): Promise<void>;
  /** What is to be done now and then. */
  tidy(): Promise<void>;
}

const pollMs = 500;
const tidyMs = 30_000;
const beatMs = 5000;
const firstRetryMs = 100;
const maxRetryMs = 5000;
/** PostgreSQL takes notifications of at most 8000 bytes. */
const chatsPerSignal = 80;

/**
 * Notifications between nodes, over one connection of their own. A notification may get lost with its connection, so the
 * tables are looked at regularly too. Notifications are sent after the transaction they are about: inside it, PostgreSQL
 * would let only one transaction at a time reach the disk.
 */
export function postgresSignals(db: PostgresDatabase, node: string, listeners: SignalListeners) {
  const log = new Map<string, number>();
  const deleted = new Set<string>();
  const posted = new Set<string>();
  let isSending = false;
  let isStarted = false;
  let isClosed = false;
  let client: pg.Client | undefined;
  let retryMs = firstRetryMs;
  const timers = new Set<NodeJS.Timeout>();

  const later = (ms: number, work: () => Promise<void>) => {
    if (isClosed) return;
    const timer = setTimeout(() => {
      timers.delete(timer);
      void work().catch(() => undefined);
    }, ms);
    timer.unref();
    timers.add(timer);
  };
  const repeat = (ms: number, work: () => Promise<void>) =>
    later(ms, () =>
      work()
        .catch(() => undefined)
        .finally(() => repeat(ms, work)),
    );

  const send = async () => {
    for (let signals = takeSignals(); signals.length > 0; signals = takeSignals()) {
      await db
        .query("SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS signal (payload)", [
          ...[schema, signals.map((signal) => JSON.stringify(signal))],
        ])
        .catch(() => undefined);
    }
    isSending = false;
  };

  const takeSignals = (): Signal[] => {
    const chats = [...log];
    const signals: Signal[] = [];
    for (let start = 0; start < chats.length; start += chatsPerSignal)
      signals.push({ from: node, log: Object.fromEntries(chats.slice(start, start + chatsPerSignal)) });
    if (deleted.size + posted.size > 0) signals.push({ from: node, deleted: [...deleted], posted: [...posted] });
    log.clear();
    deleted.clear();
    posted.clear();
    return signals;
  };

  const sendSoon = () => {
    if (isSending || isClosed) return;
    isSending = true;
    setImmediate(() => void send());
  };

  const receive = (payload: string | undefined) => {
    const signal = JSON.parse(payload ?? "{}") as Signal;
    if (signal.from === node) return;
    for (const [chat, sequence] of Object.entries(signal.log ?? {})) listeners.onLog(chat, sequence);
    for (const chat of signal.deleted ?? []) listeners.onDeleted(chat);
    if (signal.posted?.includes(node)) listeners.onPosted();
  };

  const listen = async (): Promise<void> => {
    if (isClosed) return;
    let opened: pg.Client | undefined;
    try {
      const connection = (opened = await db.connect());
      connection.on("notification", ({ payload }) => receive(payload));
      connection.once("end", () => {
        if (client !== connection) return;
        client = undefined;
        again();
      });
      const wish = { text: `LISTEN ${schema}`, query_timeout: beatMs };
      await connection.query(wish);
      client = connection;
      if (isClosed) return void connection.end();
      retryMs = firstRetryMs;
    } catch {
      opened?.connection.stream.destroy();
      again();
      return;
    }
    // For what was missed without a connection.
    await listeners.poll().catch(() => undefined);
  };
  const again = () => {
    later(retryMs, listen);
    retryMs = Math.min(retryMs * 2, maxRetryMs);
  };
  /** A connection can be lost without a sign. */
  const beat = async () => {
    const connection = client;
    if (!connection) return;
    const question = { text: "SELECT 1", query_timeout: beatMs };
    await connection.query(question).catch(() => connection.connection.stream.destroy());
  };

  return {
    logGrew(chat: string, sequence: number): void {
      log.set(chat, sequence);
      sendSoon();
    },
    chatDeleted(chat: string): void {
      deleted.add(chat);
      sendSoon();
    },
    postedTo(other: string): void {
      posted.add(other);
      sendSoon();
    },
    /** Begins to listen and to look, unless it has begun. */
    start(): void {
      if (isStarted || isClosed) return;
      isStarted = true;
      void listen();
      repeat(pollMs, listeners.poll);
      repeat(beatMs, beat);
      repeat(tidyMs, listeners.tidy);
      later(0, listeners.tidy);
    },
    async close(): Promise<void> {
      isClosed = true;
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
      const connection = client;
      client = undefined;
      await connection?.end().catch(() => undefined);
    },
  };
}

export type PostgresSignals = ReturnType<typeof postgresSignals>;
