import { BridgeError } from "../protocol/index.ts";
import { nextAuditEntry } from "./audit-chain.ts";
import { NotOwner } from "./lease-store.ts";
import { type PostgresDatabase, sqlNow } from "./postgres-database.ts";
import { isConnectionLost } from "./postgres-errors.ts";
import type { PostgresLeases } from "./postgres-leases.ts";
import { findWritten } from "./postgres-ledger-check.ts";
import { type LedgerBatch, writeLedger } from "./postgres-ledger-write.ts";
import { type Row, rowToApproval, text } from "./postgres-rows.ts";
import type { Approval, AuditEntry, NewApproval } from "./store.ts";
import type { CallLimits } from "./store-limits.ts";

/** A change of one approval, as a function of the rows as they are. It may be computed again after a conflict. */
export interface LedgerJob<T> {
  /** The id of the row. */
  id: string;
  /** Set for a row that is to be created. */
  create?: { approval: NewApproval; limits: CallLimits };
  /** Only the node that has the chat may make the change. */
  isFenced: boolean;
  compute(view: LedgerView): { result: T; row?: Approval; audit?: Pick<AuditEntry, "event" | "by"> };
}

/** What the database has, as one job sees it: with the changes of the jobs before it. */
export interface LedgerView {
  at: number;
  /** The row with the id of the job. */
  row: Approval | undefined;
  /** For a new row: the row that its call has already, and the session it names. */
  existing?: Approval | undefined;
  session?: { chat: string; owner: string; appName: string } | undefined;
  counts: Record<keyof CallLimits, number>;
}

interface Waiting {
  job: LedgerJob<unknown>;
  /** When it was asked for (`PostgresLeases.moment`). */
  moment: number;
  attempts: number;
  resolve: (value: never) => void;
  reject: (error: unknown) => void;
}

interface Head {
  sequence: number;
  hash: string;
  node: string | null;
  fence: number;
}

/** More waiting changes than a server has use for. */
const maxWaiting = 10_000;
/** How many changes go together at most. */
const maxBatch = 200;
/** How often a change is computed again because another node changed the same chat. */
const maxAttempts = 20;

/**
 * Changes to approvals. Those that come together are read, computed and written together: one read, one write. The write is
 * one statement, so a process that is paused in between holds no lock. It changes only rows that are as they were read;
 * if another node was faster, the changes of that chat are computed again.
 */
export function postgresLedger(db: PostgresDatabase, leases: PostgresLeases) {
  const waiting: Waiting[] = [];
  let isRunning = false;

  const run = async () => {
    while (waiting.length > 0) {
      const batch = waiting.splice(0, maxBatch);
      try {
        await settle(batch);
      } catch (error) {
        if (batch.length > 1 && !(error instanceof BridgeError)) {
          // The database refused one of them. Alone, the others succeed.
          for (const each of batch) await settle([each]).catch(each.reject);
        } else for (const each of batch) each.reject(error);
      }
    }
    isRunning = false;
  };

  const settle = async (batch: readonly Waiting[]): Promise<void> => {
    const loaded = await load(batch.map(({ job }) => job));
    const { write, outcomes } = computeBatch(batch, loaded, leases);
    const done = write.chats.size > 0 ? await commit(write) : new Set<string>();
    for (const { each, chat, outcome } of outcomes) {
      if ("error" in outcome) each.reject(outcome.error);
      else if (chat === undefined || done.has(chat)) each.resolve(outcome.result as never);
      else if (each.attempts >= maxAttempts)
        each.reject(new BridgeError("unavailable", `Chat ${chat} changes too often. Try again in a moment.`));
      else waiting.push({ ...each, attempts: each.attempts + 1 });
    }
  };

  /** Writes a batch, and returns the chats whose changes are in the database. */
  const commit = async (write: LedgerBatch): Promise<Set<string>> => {
    try {
      return await writeLedger(db, write, leases.node);
    } catch (error) {
      if (!isConnectionLost(error)) throw error;
      // The statement may have been carried out, or may still be. It changes nothing the second time.
      const again = await writeLedger(db, write, leases.node);
      return new Set([...again, ...(await findWritten(db, write, again))]);
    }
  };

  const load = (jobs: readonly LedgerJob<unknown>[]) =>
    db.session(async ({ query }) => {
      const creates = jobs.flatMap(({ create }) => (create ? [create] : []));
      const ids = jobs.map(({ id }) => id);
      const heads = "session.audit_sequence, session.audit_hash, session.lease_node, session.lease_fence";
      // Each row with the head of its chat: a row that was changed in between is noticed when it is written.
      const rows = query(
        `SELECT approval.*, ${heads}, approval.lease_until AS lease_until, ${sqlNow(2)} AS now
         FROM approval JOIN session ON session.id = approval.chat AND NOT session.deleted
         WHERE approval.id = ANY($1::text[])`,
        [ids, db.time()],
      );
      if (creates.length === 0) {
        const found = await rows;
        const chats = found.map((row) => ({ ...row, id: row["chat"] }));
        return {
          rows: found,
          heads: chats,
          at: Number(found[0]?.["now"] ?? db.now()),
          counts: new Map<string, number>(),
        };
      }
      const [found, taken, sessions, [clock], counts] = await Promise.all([
        rows,
        query(
          `SELECT approval.* FROM approval JOIN unnest($1::text[], $2::text[]) AS call (session, tool_call_id)
           USING (session, tool_call_id)`,
          [creates.map(({ approval }) => approval.session), creates.map(({ approval }) => approval.toolCallId)],
        ),
        query(
          `SELECT id, chat, owner, app_name, ${heads} FROM session
           WHERE NOT deleted AND (id = ANY($2::text[]) OR id IN (SELECT chat FROM approval WHERE id = ANY($1::text[])))`,
          [ids, creates.flatMap(({ approval }) => [approval.chat, approval.session])],
        ),
        query(`SELECT ${sqlNow(1)} AS now`, [db.time()]),
        count(query, creates),
      ]);
      return { rows: [...found, ...taken], heads: sessions, at: Number(clock?.["now"]), counts };
    });

  return {
    change<T>(job: LedgerJob<T>): Promise<T> {
      if (waiting.length >= maxWaiting)
        return Promise.reject(new BridgeError("unavailable", "Too many changes wait for the database."));
      return new Promise<T>((resolve, reject) => {
        waiting.push({ job, moment: leases.moment(), attempts: 0, resolve, reject });
        if (isRunning) return;
        isRunning = true;
        // What comes in the same turn of the event loop goes together.
        setImmediate(() => void run());
      });
    },
  };
}

type Loaded = { rows: Row[]; heads: Row[]; at: number; counts: Map<string, number> };

/** Computes the changes one after the other, each with what the ones before it leave. */
function computeBatch(batch: readonly Waiting[], { rows, heads, at, counts }: Loaded, leases: PostgresLeases) {
  const approvals = new Map<string, { approval: Approval; version: number | undefined }>();
  const calls = new Map<string, string>();
  for (const row of rows) {
    const approval = rowToApproval(row);
    approvals.set(approval.id, { approval, version: Number(row["version"]) });
    calls.set(callKey(approval), approval.id);
  }
  const sessions = new Map(heads.map((row) => [text(row["id"]), row]));
  const chats = new Map<string, Head>();
  const headOf = (chat: string): Head | undefined => {
    const row = sessions.get(chat);
    if (!row) return undefined;
    const head = chats.get(chat) ?? {
      ...{ sequence: Number(row["audit_sequence"]), hash: String(row["audit_hash"]) },
      ...{ node: row["lease_node"] as string | null, fence: Number(row["lease_fence"]) },
    };
    chats.set(chat, head);
    return head;
  };
  const write: LedgerBatch = { at, chats: new Map(), updates: new Map(), inserts: new Map(), audit: [] };

  const one = ({ job, moment }: Waiting): { chat?: string; outcome: { result: unknown } | { error: unknown } } => {
    try {
      const stored = approvals.get(job.id);
      const { approval: asked, limits } = job.create ?? {};
      const session = asked && sessions.get(asked.session);
      const computed = job.compute({
        at,
        row: stored?.approval,
        existing: asked && approvals.get(calls.get(callKey(asked)) ?? "")?.approval,
        // An inner session has the name of its agent; the call belongs to the app of the chat.
        session: session && {
          ...{ chat: text(session["chat"]), owner: text(session["owner"]) },
          appName: text(sessions.get(text(session["chat"]))?.["app_name"]),
        },
        counts: asked && limits ? countsOf(counts, asked) : noCounts,
      });
      const { row, audit, result } = computed;
      if (!row) {
        // What it saw may be the work of a change before it, and then counts only if that change is made.
        const seen = stored?.approval ?? (asked && approvals.get(calls.get(callKey(asked)) ?? "")?.approval);
        const isChanged = seen && (write.updates.has(seen.id) || write.inserts.has(seen.id));
        return { ...(isChanged && { chat: seen.chat }), outcome: { result } };
      }
      const head = headOf(row.chat);
      if (!head) throw new BridgeError("not_found", `There is no chat ${row.chat}.`);
      const fence = leases.fenceOf(row.chat, moment);
      if (job.isFenced && (head.node !== leases.node || head.fence !== fence)) {
        if (fence > 0) leases.held.delete(row.chat);
        throw new NotOwner(row.chat);
      }
      const first = write.chats.get(row.chat) ?? { before: head.sequence, after: head, fence: 0, isChanged: false };
      if (audit) {
        const { id: approvalId, state, digest } = row;
        const previous = head.sequence > 0 ? ({ sequence: head.sequence, hash: head.hash } as AuditEntry) : undefined;
        const entry = nextAuditEntry(previous, { at, approvalId, ...audit, state, digest });
        write.audit.push({ chat: row.chat, entry });
        Object.assign(head, { sequence: entry.sequence, hash: entry.hash });
      }
      write.chats.set(row.chat, {
        ...{ before: first.before, after: head, isChanged: first.isChanged || audit !== undefined },
        fence: job.isFenced ? fence : first.fence,
      });
      if (stored && stored.version !== undefined) write.updates.set(row.id, { row, version: stored.version });
      else write.inserts.set(row.id, row);
      approvals.set(row.id, { approval: row, version: stored?.version });
      calls.set(callKey(row), row.id);
      if (job.create) for (const key of countKeys(row)) counts.set(key, (counts.get(key) ?? 0) + 1);
      return { chat: row.chat, outcome: { result } };
    } catch (error) {
      return { outcome: { error } };
    }
  };
  return { write, outcomes: batch.map((each) => ({ each, ...one(each) })) };
}

const noCounts = { maxPending: 0, maxWaiting: 0, maxWaitingOfOwner: 0, maxWaitingInAll: 0 };

function callKey({ session, toolCallId }: Pick<NewApproval, "session" | "toolCallId">): string {
  return JSON.stringify([session, toolCallId]);
}

/** The counts that a new call of this chat and owner belongs to. */
function countKeys({ chat, owner, state }: Pick<Approval, "chat" | "owner" | "state">): string[] {
  const keys = [`waiting ${chat}`, `owner ${owner}`];
  return state === "pending" ? [...keys, `pending ${chat}`] : keys;
}

function countsOf(counts: ReadonlyMap<string, number>, { chat, owner }: NewApproval): LedgerView["counts"] {
  const of = (key: string) => counts.get(key) ?? 0;
  return {
    ...{ maxPending: of(`pending ${chat}`), maxWaiting: of(`waiting ${chat}`) },
    ...{ maxWaitingOfOwner: of(`owner ${owner}`), maxWaitingInAll: 0 },
  };
}

/** Counts the calls that wait beside new ones, as far as the limits of these ask for it. */
async function count(
  query: (sql: string, values: string[][]) => Promise<Row[]>,
  creates: readonly { approval: NewApproval; limits: CallLimits }[],
): Promise<Map<string, number>> {
  const limited = creates.filter(({ limits }) => Object.values(limits).some((limit) => limit !== undefined));
  if (limited.length === 0) return new Map();
  const chats = [...new Set(limited.map(({ approval }) => approval.chat))];
  const owners = limited.filter(({ limits }) => limits.maxWaitingOfOwner !== undefined);
  const open = "state IN ('pending', 'approved', 'executing', 'waiting')";
  const [ofChats, ofOwners] = await Promise.all([
    query(
      `SELECT chat, count(*) AS waiting, count(*) FILTER (WHERE state = 'pending') AS pending
       FROM approval WHERE chat = ANY($1::text[]) AND ${open} GROUP BY chat`,
      [chats],
    ),
    query(`SELECT owner, count(*) AS n FROM approval WHERE owner = ANY($1::text[]) AND ${open} GROUP BY owner`, [
      [...new Set(owners.map(({ approval }) => approval.owner))],
    ]),
  ]);
  return new Map([
    ...ofChats.flatMap((row): [string, number][] => [
      [`waiting ${text(row["chat"])}`, Number(row["waiting"])],
      [`pending ${text(row["chat"])}`, Number(row["pending"])],
    ]),
    ...ofOwners.map((row): [string, number] => [`owner ${text(row["owner"])}`, Number(row["n"])]),
  ]);
}
