import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ApprovalState, transition } from "../../src/protocol/index.ts";
import {
  type Approval,
  type AuditEntry,
  type Change,
  type Session,
  type Store,
  verifyAudit,
} from "../../src/stores/index.ts";
import { memoryStore } from "../../src/stores/memory.ts";
import { postgresStore } from "../../src/stores/postgres.ts";
import { sqliteStore } from "../../src/stores/sqlite.ts";
import { type TestDatabase, testDatabase } from "../fixtures/postgres.ts";
import { holdingChats, newApproval } from "./store.ts";

/**
 * Random walks and interleavings. The walks compare a store with the model below, which is written from the rules and
 * shares no code with the stores; the interleavings check only what callers were told, and the audit.
 */

interface ModelRow {
  state: ApprovalState;
  external: boolean;
  startMs: number;
  reportMs?: number;
  reportBy?: number;
  expiresAt: number;
  startBy?: number;
  fence: number;
  leaseUntil?: number;
  told: boolean;
  audit: AuditEntry["event"][];
}

/** Moves the row if the rules say so, and returns whether the caller's own change was made. */
function moveModel(row: ModelRow, change: Change, now: number): boolean {
  const go = (state: ApprovalState, event = change.event) => {
    row.state = state;
    row.audit.push(event);
    return event === change.event;
  };
  const deadline =
    { pending: row.expiresAt, approved: row.startBy, waiting: row.reportBy }[row.state as string] ?? Infinity;
  // X32: a row past its time expires, whatever the change.
  if (now >= deadline) return row.state === "waiting" ? go("indeterminate", "lose") : go("expired", "expire");
  const lapsed = now >= (row.leaseUntil ?? 0);
  switch (`${row.state} ${change.event}`) {
    case "pending approve":
      row.startBy = now + row.startMs;
      return go("approved");
    case "pending deny":
      return go("denied");
    case "pending cancel":
    case "approved cancel":
      return go("cancelled");
    case "approved claim":
      row.fence += 1;
      row.leaseUntil = now + (change as { leaseMs: number }).leaseMs;
      return go("executing");
    case "executing reclaim":
      if (!lapsed) return false;
      row.fence += 1;
      row.leaseUntil = now + (change as { leaseMs: number }).leaseMs;
      return go("executing");
    case "executing lose":
      if (!lapsed) return false;
      row.reportBy = row.reportMs === undefined ? undefined : now + row.reportMs;
      return go("indeterminate");
    case "approved begin":
    case "executing begin": {
      const fence = row.state === "approved" ? undefined : row.fence;
      if (row.reportMs === undefined || (change as { fence?: number }).fence !== fence) return false;
      row.reportBy = now + row.reportMs;
      return go("waiting");
    }
    case "executing succeed":
    case "executing fail": {
      const { fence } = change as { fence?: number };
      const holds = fence === undefined ? row.reportMs !== undefined : fence === row.fence;
      return holds && go(change.event === "fail" ? "failed" : "succeeded");
    }
    case "waiting succeed":
    case "waiting fail":
      if ((change as { fence?: number }).fence !== undefined) return false;
      return go(change.event === "fail" ? "failed" : "succeeded");
    case "indeterminate succeed":
    case "indeterminate fail": {
      const { fence, by } = change as { fence?: number; by?: string };
      const mayReport = row.reportBy !== undefined && now < row.reportBy;
      if (fence === undefined ? by === undefined && !mayReport : fence !== row.fence) return false;
      row.told = false;
      return go(change.event === "fail" ? "failed" : "succeeded");
    }
    default:
      return false;
  }
}

function modelDueAt(row: ModelRow): number {
  if (row.state === "pending") return row.expiresAt;
  if (row.state === "approved") return 0;
  if (row.state === "waiting") return row.reportBy ?? 0;
  if (row.state === "executing") return row.leaseUntil ?? 0;
  return row.told ? Infinity : 0;
}

type Step =
  | {
      do: "create";
      call: number;
      external: boolean;
      approved: boolean;
      ttlMs: number;
      startMs: number;
      reportMs?: number;
    }
  | {
      do: "move";
      call: number;
      event: Change["event"];
      fence: number | undefined;
      by: string | undefined;
      leaseMs: number;
    }
  | { do: "renew"; call: number; fence: number; leaseMs: number }
  | { do: "tell"; call: number }
  | { do: "tick"; ms: number };

const call = fc.nat({ max: 2 });
const span = fc.integer({ min: 0, max: 12 });
/** Relative to the row's own fence, mostly the right one. */
const fence = fc.constantFrom(0, 0, 0, -1, 1);
/** The usual way through is common, so that walks get far; everything else happens at any time. */
const event = fc.constantFrom(
  ...(["approve", "claim", "succeed", "approve", "claim", "reclaim", "reclaim", "lose"] as const),
  ...(["begin", "begin", "succeed"] as const),
  ...(["fail", "deny", "expire", "cancel"] as const),
);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("create"),
      call,
      external: fc.boolean(),
      approved: fc.boolean(),
      ttlMs: span,
      startMs: span,
      reportMs: fc.option(span, { nil: undefined, freq: 4 }),
    }),
  },
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constant("move"),
      call,
      event,
      fence: fc.option(fence, { nil: undefined, freq: 3 }),
      by: fc.option(fc.constant("alice"), { nil: undefined }),
      leaseMs: span,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("renew"), call, fence, leaseMs: span }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("tell"), call }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("tick"), ms: fc.integer({ min: 1, max: 6 }) }) },
);

function toChange(
  name: Change["event"],
  withFence: number | undefined,
  leaseMs: number,
  by: string | undefined,
): Change {
  switch (name) {
    case "approve":
    case "deny":
      return { event: name, by: "alice" };
    case "claim":
    case "reclaim":
      return { event: name, leaseOwner: "worker", leaseMs };
    case "succeed":
    case "fail":
      return { event: name, outcome: { name }, fence: withFence, by };
    case "begin":
      return { event: name, fence: withFence };
    case "expire":
    case "cancel":
    case "lose":
      return { event: name };
    default:
      return name satisfies never;
  }
}

/** I16: each row as the audit tells it; throws if the audit contradicts the state machine. */
function replay(
  entries: readonly AuditEntry[],
): Map<string, { state: ApprovalState; fence: number; decisions: number }> {
  expect(verifyAudit(entries)).toBeUndefined();
  const rows = new Map<string, { state: ApprovalState; fence: number; decisions: number }>();
  for (const entry of entries) {
    const row = rows.get(entry.approvalId);
    if (entry.event === "create") {
      expect(row).toBeUndefined();
      rows.set(entry.approvalId, { state: entry.state, fence: 0, decisions: 0 });
      continue;
    }
    if (!row) throw new Error(`The audit moves ${entry.approvalId} before it was created.`);
    expect(transition(row.state, entry.event)).toEqual({ to: entry.state });
    row.state = entry.state;
    if (entry.event === "claim" || entry.event === "reclaim") row.fence += 1;
    if (entry.event === "approve" || entry.event === "deny") row.decisions += 1;
  }
  return rows;
}

const folder = mkdtempSync(join(tmpdir(), "store-model-"));
afterAll(() => rmSync(folder, { recursive: true }));

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

describe.each([
  ["memory", 300, (now: () => number) => memoryStore({ now })],
  ["SQLite", 60, (now: () => number) => sqliteStore({ path: join(folder, "store.db"), now })],
  ["PostgreSQL", 15, (now: () => number) => postgresStore({ url: database.url, now })],
] as const)("the %s store", (_name, numRuns, open) => {
  const clock = { at: 0 };
  let store: Store;
  let chats = 0;
  beforeAll(() => {
    store = holdingChats(open(() => clock.at));
  });
  afterAll(async () => {
    await store.close();
  });

  /** Gives each run a chat of its own, and deletes it afterwards. */
  const inNewChat = async (work: (chat: Session) => Promise<void>) => {
    chats += 1;
    clock.at = 1_000_000;
    const chat = await store.openChat({ owner: "alice", name: `chat ${chats}`, appName: "app" });
    try {
      await work(chat);
    } finally {
      await store.deleteSession(chat.id);
    }
  };

  test("I1, I2, I11, I14, I16: follows the model on any walk", async () => {
    const walks = fc.array(step, { minLength: 10, maxLength: 45 });
    await fc.assert(
      fc.asyncProperty(walks, async (steps) => inNewChat(async (chat) => follow(chat, steps))),
      { numRuns },
    );
  });

  async function follow(chat: Session, steps: readonly Step[]): Promise<void> {
    const model = new Map<string, ModelRow>();
    for (const next of steps) {
      if (next.do === "tick") {
        clock.at += next.ms;
        continue;
      }
      const id = `${chat.id}-${next.call}`;
      const row = model.get(id);
      const before = row && { ...row };
      if (next.do === "create") {
        const { external, ttlMs, startMs, reportMs } = next;
        const state = next.approved ? "approved" : "pending";
        await store.createApproval(newApproval(chat, String(next.call), { external, ttlMs, startMs, reportMs, state }));
        const startBy = next.approved ? clock.at + startMs : undefined;
        const fresh = {
          state,
          external,
          startMs,
          reportMs,
          expiresAt: clock.at + ttlMs,
          startBy,
          fence: 0,
          told: false,
        } as const;
        if (!row) model.set(id, { ...fresh, audit: ["create"] });
      } else if (next.do === "move") {
        const aimed = next.fence === undefined ? undefined : (row?.fence ?? 0) + next.fence;
        const change = toChange(next.event, aimed, next.leaseMs, next.by);
        const result = await store.move(id, change);
        const audited = row?.audit.length;
        expect(result.moved).toBe(row ? moveModel(row, change, clock.at) : false);
        expect(result.applied).toBe(row && row.audit.length > (audited ?? 0) ? row.audit.at(-1) : undefined);
        expect(result.approval?.state).toBe(row?.state);
      } else if (next.do === "renew") {
        const aimed = (row?.fence ?? 0) + next.fence;
        const renews = row?.state === "executing" && aimed === row.fence;
        expect(await store.renewLease(id, aimed, next.leaseMs)).toBe(renews);
        if (renews) row.leaseUntil = clock.at + next.leaseMs;
      } else {
        const tells =
          row !== undefined && !["pending", "approved", "executing", "waiting"].includes(row.state) && !row.told;
        expect(await store.markTold(id)).toBe(tells);
        if (tells) row.told = true;
      }
      const stored = await store.getApproval(id);
      expect(stored && shape(stored)).toEqual(model.has(id) ? modelShape(model.get(id) as ModelRow) : undefined);
      if (stored && before) expect(stored.fence).toBeGreaterThanOrEqual(before.fence);
    }

    const due = [...model].filter(([, row]) => modelDueAt(row) <= clock.at).map(([id]) => id);
    expect((await store.dueApprovals()).map(({ id }) => id)).toEqual(due);

    const entries = await store.audit(chat.id);
    for (const [id, row] of model) {
      const own = entries.filter(({ approvalId }) => approvalId === id);
      expect(own.map((entry) => entry.event)).toEqual(row.audit);
    }
    expect(entries).toHaveLength([...model.values()].reduce((sum, { audit }) => sum + audit.length, 0));
    expect([...replay(entries)].map(([id, { state, fence: last }]) => [id, state, last])).toEqual(
      [...model].map(([id, row]) => [id, row.state, row.fence]),
    );
  }

  const shape = ({ state, fence: last, told, expiresAt, startBy, leaseUntil }: Approval) => ({
    ...{ state, fence: last, told, expiresAt, startBy, leaseUntil },
  });
  const modelShape = ({ state, fence: last, told, expiresAt, startBy, leaseUntil }: ModelRow) => ({
    ...{ state, fence: last, told, expiresAt, startBy },
    leaseUntil: state === "executing" ? leaseUntil : undefined,
  });

  test("I2, I14, I16, I17: any interleaving of people, workers, sweepers and time gives one decision and one finish", async () => {
    const crowd = fc.record({
      people: fc.array(fc.constantFrom("approve", "deny", "approve"), { minLength: 2, maxLength: 4 }),
      workers: fc.array(fc.record({ rounds: fc.integer({ min: 1, max: 3 }), succeeds: fc.boolean() }), {
        minLength: 1,
        maxLength: 3,
      }),
      meddlers: fc.array(fc.constantFrom("expire", "lose", "cancel"), { maxLength: 3 }),
      ticks: fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 6 }),
    });
    await fc.assert(
      fc.asyncProperty(crowd, fc.scheduler(), async (who, scheduler) =>
        inNewChat(async (chat) => interleave(chat, who, scheduler)),
      ),
      { numRuns },
    );
  });

  async function interleave(
    chat: Session,
    who: {
      people: ("approve" | "deny")[];
      workers: { rounds: number; succeeds: boolean }[];
      meddlers: ("expire" | "lose" | "cancel")[];
      ticks: number[];
    },
    scheduler: fc.Scheduler,
  ): Promise<void> {
    const id = `${chat.id}-call`;
    const told: { change: Change; moved: boolean; approval: Approval }[] = [];
    /** Each caller waits for its turn before each step; the scheduler chooses the order. */
    const turn = async <T>(work: () => Promise<T>): Promise<T> => {
      await scheduler.schedule(Promise.resolve());
      return work();
    };
    const move = async (change: Change) => {
      const result = await turn(() => store.move(id, change));
      const approval = result.approval as Approval;
      told.push({ change, moved: result.moved, approval });
      return { moved: result.moved, approval };
    };
    const work = async (name: string, rounds: number, succeeds: boolean) => {
      for (let round = 0; round < rounds; round += 1) {
        const seen = await turn(() => store.getApproval(id));
        const claims = seen?.state === "executing" ? "reclaim" : "claim";
        const { moved, approval } = await move({ event: claims, leaseOwner: name, leaseMs: 8 });
        if (moved) await move({ event: succeeds ? "succeed" : "fail", outcome: { name }, fence: approval.fence });
      }
    };

    const create = () => store.createApproval(newApproval(chat, "call", { ttlMs: 30, startMs: 30 }));
    await create();
    const callers = [
      ...who.people.map((decision, n) => move({ event: decision, by: `person ${n}`, key: `key ${n}` })),
      ...who.workers.map(({ rounds, succeeds }, n) => work(`worker ${n}`, rounds, succeeds)),
      ...who.meddlers.map((meddling) => move({ event: meddling })),
      ...who.ticks.map((ms) => turn(async () => void (clock.at += ms))),
      turn(create),
    ];
    await scheduler.waitFor(Promise.all(callers));

    const final = (await store.getApproval(id)) as Approval;
    const won = (...events: Change["event"][]) =>
      told.filter(({ change, moved }) => moved && events.includes(change.event));
    const decided = won("approve", "deny");
    const claimed = won("claim", "reclaim").map(({ approval }) => approval.fence);
    const finished = won("succeed", "fail");

    expect(decided.length).toBeLessThanOrEqual(1);
    if (!["pending", "expired", "cancelled"].includes(final.state)) expect(decided).toHaveLength(1);
    expect(final.decisionKey).toBe(decided[0]?.approval.decisionKey);
    for (const { approval } of told) {
      if (approval.decisionKey !== undefined) expect(approval.decisionKey).toBe(final.decisionKey);
    }

    expect(claimed.toSorted((a, b) => a - b)).toEqual(claimed.map((_, index) => index + 1));
    expect(final.fence).toBe(claimed.length);
    expect(finished.length).toBeLessThanOrEqual(1);
    for (const { change } of finished) expect((change as { fence?: number }).fence).toBe(final.fence);
    expect(final.outcome).toEqual((finished[0]?.change as { outcome?: unknown } | undefined)?.outcome);

    // Each change that was made is one entry, and there are no others but the `expire` that a late change caused.
    const entries = await store.audit(chat.id);
    const late = entries.filter(({ event: name }) => name === "expire").length - won("expire").length;
    expect(late).toBeGreaterThanOrEqual(0);
    expect(late).toBeLessThanOrEqual(1);
    expect(entries).toHaveLength(1 + told.filter(({ moved }) => moved).length + late);
    expect(replay(entries).get(id)).toEqual({ state: final.state, fence: final.fence, decisions: decided.length });
  }
});
