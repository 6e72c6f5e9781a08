import { BridgeError } from "../protocol/index.ts";
import { type PostgresDatabase, sqlNow, type Statements } from "./postgres-database.ts";
import { isConnectionLost } from "./postgres-errors.ts";
import { explainConflict } from "./postgres-events.ts";
import type { HeldChat, PostgresLeases } from "./postgres-leases.ts";
import { beginsWith, type EntryRow, toEntryRow, toLogEntry } from "./postgres-entries.ts";
import { applyEntry } from "./postgres-messages.ts";
import { applyWithdrawal } from "./postgres-withdrawal.ts";
import type { LogEntry, NewLogEntry, Withdrawal } from "./store.ts";

interface Waiting {
  chat: string;
  /** When it was asked for (`PostgresLeases.moment`). */
  moment: number;
  entries: readonly NewLogEntry[];
  rows: readonly EntryRow[];
  withdrawal: Withdrawal | undefined;
  resolve: (entries: LogEntry[]) => void;
  reject: (error: unknown) => void;
}

/** Rows of one chat that are appended together. */
interface Append {
  chat: string;
  moment: number;
  held: HeldChat;
  rows: EntryRow[];
}

/** More waiting appends than a server has use for. */
const maxWaiting = 20_000;
const appendSql = `
WITH chat_in AS (SELECT * FROM unnest($3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $12::boolean[])
  AS c (id, fence, last, count, changed)),
entry_in AS (SELECT * FROM unnest($7::text[], $8::bigint[], $9::text[], $10::boolean[], $11::text[])
  AS e (chat, sequence, turn, kept, entry)),
clock AS MATERIALIZED (SELECT ${sqlNow(2)} AS now),
mine AS MATERIALIZED (
  SELECT session.id FROM session JOIN chat_in USING (id)
  WHERE NOT deleted AND lease_node = $1 AND lease_fence = fence AND last_sequence = last
  ORDER BY session.id FOR UPDATE OF session),
added AS (
  INSERT INTO log (chat, sequence, at, turn, kept, entry)
  SELECT chat, sequence, now, turn, kept, entry FROM entry_in JOIN mine ON mine.id = chat, clock)
UPDATE session SET last_sequence = last + count, updated_at = CASE WHEN changed THEN now ELSE updated_at END
FROM chat_in JOIN mine USING (id), clock WHERE session.id = mine.id
RETURNING session.id, now`;

/**
 * Appends to logs. Chunks of all chats that come together are one statement, one after the other; everything else is a
 * transaction of its chat. Appends of one chat are made in the order in which they were asked for.
 *
 * Each append says which number the log ends with. So one whose connection was lost can be made again: the second is not
 * written if the first was.
 */
export function postgresAppend(
  db: PostgresDatabase,
  leases: PostgresLeases,
  onAppended: (chat: string, entries: LogEntry[]) => void,
) {
  const queues = new Map<string, Waiting[]>();
  const busy = new Set<string>();
  /** Chats, with their fence, whose log may be longer than this node knows: an append has lost its connection. */
  const unknown = new Map<string, number>();
  let waiting = 0;
  let isScheduled = false;
  let isBatchRunning = false;

  const schedule = () => {
    if (isScheduled) return;
    isScheduled = true;
    // What comes in the same turn of the event loop goes together.
    setImmediate(() => {
      isScheduled = false;
      pump();
    });
  };

  const pump = () => {
    const batch: Waiting[][] = [];
    for (const [chat, queue] of queues) {
      if (busy.has(chat)) continue;
      // What belongs to a lease that was lost goes apart from what belongs to the next one.
      const taken = leases.held.get(chat)?.taken ?? 0;
      const isLate = queue[0] !== undefined && queue[0].moment < taken;
      const other = queue.findIndex((item) => !isPlain(item) || item.moment < taken !== isLate);
      const count = other < 0 ? queue.length : other;
      if (count > 0 && isBatchRunning) continue;
      const items = queue.splice(0, Math.max(1, count));
      if (queue.length === 0) queues.delete(chat);
      waiting -= items.length;
      busy.add(chat);
      if (count > 0) batch.push(items);
      else void run(() => appendAlone(items), [chat]);
    }
    if (batch.length === 0) return;
    isBatchRunning = true;
    void run(
      () => appendTogether(batch),
      batch.map(([first]) => first?.chat ?? ""),
    ).finally(() => (isBatchRunning = false));
  };

  const run = async (work: () => Promise<void>, chats: readonly string[]) => {
    await work();
    for (const chat of chats) busy.delete(chat);
    schedule();
  };

  const settle = (items: readonly Waiting[], rows: readonly EntryRow[], first: number, at: number) => {
    let index = 0;
    const stored = rows.map((row, offset) => toLogEntry(row, first + offset, at));
    const [chat] = items.map((item) => item.chat);
    if (chat !== undefined && stored.length > 0) onAppended(chat, stored);
    for (const item of items) {
      item.resolve(stored.slice(index, index + item.rows.length));
      index += item.rows.length;
    }
  };

  const appendTogether = async (batch: readonly Waiting[][]): Promise<void> => {
    const appends: (Append & { items: readonly Waiting[] })[] = [];
    for (const items of batch) {
      const append = await prepare(items).catch((error: unknown) => rejectAll(items, error));
      if (append) appends.push({ ...append, items });
    }
    const done = await writeAll(appends);
    for (const { chat, held, rows, items } of appends) {
      const at = done.get(chat);
      if (typeof at !== "number") {
        rejectAll(items, at);
        continue;
      }
      const first = held.lastSequence + 1;
      held.lastSequence += rows.length;
      settle(items, rows, first, at);
    }
  };

  /** What is to be written for some appends of a chat. Undefined if nothing is. */
  const prepare = async (items: readonly Waiting[]): Promise<Append | undefined> => {
    const [{ chat, moment } = { chat: "", moment: 0 }] = items;
    const held = leases.held.get(chat);
    if (!held || held.taken > moment) {
      await leases.explain(chat, moment);
      throw new BridgeError("conflict", `Chat ${chat} changed at the same time.`);
    }
    const rows = items.flatMap((item) => item.rows);
    if (unknown.get(chat) === held.fence) {
      await leases.explain(chat, moment);
      const there = await readAfter(chat, held.lastSequence);
      unknown.delete(chat);
      if (rows.length > 0 && beginsWith(there, rows)) {
        // The caller asks again for what is there already.
        const first = held.lastSequence + 1;
        held.lastSequence += rows.length;
        if (there.length > rows.length) unknown.set(chat, held.fence);
        settle(items, rows, first, there[0]?.at ?? 0);
        return undefined;
      }
      held.lastSequence += there.length;
    }
    if (rows.length === 0) {
      await leases.explain(chat, moment);
      settle(items, [], 0, 0);
      return undefined;
    }
    return { chat, moment, held, rows };
  };

  const readAfter = async (chat: string, sequence: number): Promise<(EntryRow & { at: number })[]> => {
    const sql = "SELECT turn, kept, entry, at FROM log WHERE chat = $1 AND sequence > $2 ORDER BY sequence";
    const rows = await db.query(sql, [chat, sequence]);
    return rows.map(({ turn, kept, entry, at }) => ({
      ...{ turn: String(turn), kept: kept === true, text: String(entry), isEdge: false },
      at: Number(at),
    }));
  };

  /** Writes chunks of several chats. Returns for each the time of its entries, or the error. */
  const writeAll = async (appends: readonly Append[]): Promise<Map<string, unknown>> => {
    const results = new Map<string, unknown>();
    if (appends.length === 0) return results;
    try {
      const rows = await twice(() => db.query(appendSql, toValues(appends), { once: true }));
      for (const row of rows) results.set(String(row["id"]), Number(row["now"]));
    } catch (error) {
      for (const append of appends) results.set(append.chat, note(append, error));
    }
    for (const append of appends)
      if (!results.has(append.chat)) results.set(append.chat, await whyNot(append).catch((error: unknown) => error));
    return results;
  };

  /** The time of an append that was made by an attempt before; throws if another node has the chat. */
  const whyNot = async ({ chat, moment, held, rows }: Append): Promise<number> => {
    const { last_sequence: last } = await leases.explain(chat, moment);
    const there = await readAfter(chat, held.lastSequence);
    // Its length alone does not say whose entries these are.
    if (there.length === rows.length && beginsWith(there, rows)) return there[0]?.at ?? 0;
    // The log is shorter than this node knows if a server took over that had not everything.
    held.lastSequence = there.length > 0 ? held.lastSequence + there.length : Number(last);
    throw new BridgeError("unavailable", `The log of chat ${chat} has changed. Try again in a moment.`);
  };

  const note = ({ chat, held }: Append, error: unknown): unknown => {
    if (isConnectionLost(error)) unknown.set(chat, held.fence);
    return error;
  };

  const toValues = (appends: readonly Append[]) => [
    ...[leases.node, db.time()],
    appends.map(({ chat }) => chat),
    appends.map(({ held }) => held.fence),
    appends.map(({ held }) => held.lastSequence),
    appends.map(({ rows }) => rows.length),
    appends.flatMap(({ chat, rows }) => rows.map(() => chat)),
    appends.flatMap(({ held, rows }) => rows.map((_, index) => held.lastSequence + index + 1)),
    ...(["turn", "kept", "text"] as const).map((field) => appends.flatMap(({ rows }) => rows.map((row) => row[field]))),
    appends.map(({ rows }) => rows.some(({ isEdge }) => isEdge)),
  ];

  /** An append that begins or ends a turn, or withdraws something: a transaction. */
  const appendAlone = async (items: readonly Waiting[]): Promise<void> => {
    const [item] = items;
    if (!item) return;
    try {
      const append = await prepare(items);
      if (!append) return;
      const first = append.held.lastSequence + 1;
      const at =
        (await twice(() => db.transaction((statements) => write(statements, append, item))).catch((error: unknown) => {
          throw note(append, error);
        })) ?? (await whyNot(append));
      append.held.lastSequence += append.rows.length;
      settle(items, append.rows, first, at);
    } catch (error) {
      let reason = error;
      for (const event of item.withdrawal?.put ?? []) reason = await explainConflict(db, item.chat, event, reason);
      item.reject(reason);
    }
  };

  /** Returns the time, or undefined if the chat is not as this node knows it. */
  const write = async (statements: Statements, append: Append, item: Waiting): Promise<number | undefined> => {
    const [row] = await statements.query(appendSql, toValues([append]));
    if (!row) return undefined;
    const at = Number(row["now"]);
    if (item.withdrawal) await applyWithdrawal(statements, item.chat, item.withdrawal, db.time());
    const first = append.held.lastSequence + 1;
    await Promise.all(
      item.entries.flatMap((entry, index) => applyEntry(statements, item.chat, entry, first + index, at)),
    );
    return at;
  };

  return {
    append(chat: string, entries: readonly NewLogEntry[], withdrawal?: Withdrawal): Promise<LogEntry[]> {
      if (waiting >= maxWaiting)
        return Promise.reject(new BridgeError("unavailable", "Too many entries wait for the database."));
      return new Promise((resolve, reject) => {
        const item = {
          chat,
          moment: leases.moment(),
          entries,
          rows: entries.map(toEntryRow),
          withdrawal,
          resolve,
          reject,
        };
        const queue = queues.get(chat) ?? [];
        queues.set(chat, queue);
        queue.push(item);
        waiting += 1;
        schedule();
      });
    },
    forget(chat: string): void {
      unknown.delete(chat);
    },
  };
}

/** Makes an attempt once more if the connection is lost. */
async function twice<T>(attempt: () => Promise<T>): Promise<T> {
  return attempt().catch((error: unknown) => {
    if (!isConnectionLost(error)) throw error;
    return attempt();
  });
}

function isPlain({ entries, withdrawal }: Waiting): boolean {
  return withdrawal === undefined && entries.every(({ kind }) => kind === "chunk");
}

function rejectAll(items: readonly Waiting[], error: unknown): undefined {
  for (const { reject } of items) reject(error);
}
