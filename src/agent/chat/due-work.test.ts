import { afterEach, describe, expect, it, vi } from "vitest";
import type { Approval } from "../../stores/index.ts";
import { memoryStore } from "../../stores/memory.ts";
import { newApproval } from "../../../test/contracts/store.ts";
import { silentLogger } from "../support/index.ts";
import { DueWork, type DueWorkContext } from "./due-work.ts";

afterEach(() => void vi.useRealTimers());

const ttlMs = 100;
const tick = () => new Promise((resolve) => setImmediate(resolve));

/** Due work over a memory store. The test ends the turns and the waits that it begins. */
async function open(
  count: number,
  options: Partial<DueWorkContext> & { row?: Parameters<typeof newApproval>[2] } = {},
) {
  const clock = { now: 1000 };
  const store = memoryStore({ now: () => clock.now });
  for (let index = 0; index < count; index += 1) {
    const chat = await store.openChat({ owner: "alice", name: `chat-${index}`, appName: "app" });
    await store.createApproval(newApproval(chat, "call", { messageId: `msg-${index}`, ttlMs, ...options.row }));
  }
  const shown: { reply: string; states: string[]; model: unknown; end: () => void }[] = [];
  const waits: number[] = [];
  const ran: string[] = [];
  const finish = async (row: Approval): Promise<Approval> => {
    ran.push(row.messageId);
    return new Promise(() => {});
  };
  const work = new DueWork({
    store,
    logger: silentLogger,
    executor: { execute: finish, recover: finish },
    conversations: { mayAskUnattended: async () => true },
    unseen: { mayAskModel: async () => true },
    graceMs: 1,
    show: async (_chat, rows, { reply, model }) => {
      let end = () => {};
      const done = new Promise<void>((resolve) => (end = resolve));
      shown.push({ reply, model, states: rows.map(({ state }) => state), end });
      return { done };
    },
    isCovered: () => false,
    isClosed: () => false,
    sayAgain: async () => undefined,
    atChat: (show) => show(),
    random: () => 0.5,
    wait: async (ms) => void waits.push(ms),
    ...options,
  });
  const settled = async () => {
    for (let round = 0; round < 50; round += 1) await tick();
  };
  return { clock, store, work, shown, waits, ran, settled };
}

describe("due work", () => {
  it("X18: expires all rows, shows eight at a time, and jitters when there are many", async () => {
    const { clock, store, work, shown, waits, settled } = await open(30);
    clock.now += ttlMs;
    await work.settleDue();
    await settled();
    expect(new Set((await store.listApprovals({})).map(({ state }) => state))).toEqual(new Set(["expired"]));
    expect(shown).toHaveLength(8);
    shown[3]?.end();
    await settled();
    expect(shown).toHaveLength(9);
    expect(waits).toEqual([125]);
    while (shown.length < 30) {
      for (const { end } of shown) end();
      await settled();
    }
    expect(new Set(shown.map(({ reply }) => reply)).size).toBe(30);
    expect(shown.every(({ states, model }) => states.join() === "expired" && model === true)).toBe(true);
  });

  it("X18: a few chats do not wait", async () => {
    const { clock, work, shown, waits, settled } = await open(8);
    clock.now += ttlMs;
    await work.settleDue();
    await settled();
    expect(shown).toHaveLength(8);
    expect(waits).toEqual([]);
  });

  it("X18: a second look leaves alone what the first one is doing", async () => {
    const { work, ran, settled } = await open(3, { row: { state: "approved" } });
    for (let look = 0; look < 3; look += 1) await work.settleDue();
    await settled();
    expect(ran.toSorted()).toEqual(["msg-0", "msg-1", "msg-2"]);
  });

  it("X13: a call that hangs does not keep other rows from expiring", async () => {
    const { clock, work, ran, store, shown, settled } = await open(1, {
      row: { state: "approved", startMs: 1_000_000 },
    });
    await work.settleDue(new Map());
    expect(ran).toHaveLength(1);
    const chat = await store.openChat({ owner: "alice", name: "other", appName: "app" });
    await store.createApproval(newApproval(chat, "call", { messageId: "other", ttlMs }));
    clock.now += ttlMs;
    await work.settleDue();
    await settled();
    expect(shown).toMatchObject([{ reply: "other", states: ["expired"] }]);
    expect(ran).toHaveLength(1);
  });

  it("X13: an outcome that hangs while it is shown keeps the others waiting for a minute", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const begun: string[] = [];
    const { clock, work, settled } = await open(10, {
      show: (_chat, _rows, { reply }) => (begun.push(reply), new Promise(() => {})),
    });
    clock.now += ttlMs;
    void work.settleDue();
    await settled();
    await vi.advanceTimersByTimeAsync(59_999);
    expect(begun).toHaveLength(8);
    await vi.advanceTimersByTimeAsync(1);
    await settled();
    expect(begun).toHaveLength(10);
  });

  it("X18: runs eight calls at a time, so that a start does not begin hundreds", async () => {
    const { work, ran, settled } = await open(40, { row: { state: "approved" } });
    await work.settleDue(new Map());
    await settled();
    expect(ran).toHaveLength(8);
  });

  it("X17: does not keep its caller waiting when very many rows are due", async () => {
    const { clock, work, store } = await open(3000);
    clock.now += ttlMs;
    await work.settleDue(new Map());
    let ticks = 0;
    for (; (await store.dueApprovals({ unsettled: true })).length > 0; ticks += 1) await tick();
    expect(ticks, "the caller waited until all were settled").toBeGreaterThan(0);
  });

  it("begins a reply again that a crash cut off, unless the model may not be asked", async () => {
    const interrupted = new Map([["chat", { reply: "msg" }]]);
    const allowed = await open(0);
    await allowed.work.settleDue(interrupted);
    await allowed.settled();
    expect(allowed.shown).toMatchObject([{ reply: "msg", model: "again", states: [] }]);
    const refused = await open(0, { unseen: { mayAskModel: async () => false } });
    await refused.work.settleDue(interrupted);
    await refused.settled();
    expect(refused.shown).toMatchObject([{ model: false }]);
  });

  it("a waiting call past its time becomes indeterminate, and is shown", async () => {
    const { clock, store, work, shown, settled } = await open(1, {
      row: { state: "waiting", gated: false, external: true, reportMs: ttlMs },
    });
    await work.settleDue();
    await settled();
    expect(shown).toEqual([]);
    clock.now += ttlMs;
    await work.settleDue();
    await settled();
    expect((await store.listApprovals({})).map(({ state }) => state)).toEqual(["indeterminate"]);
    expect(shown).toMatchObject([{ states: ["indeterminate"] }]);
  });

  it("goes on after a row that cannot be settled and an outcome that cannot be shown", async () => {
    const failed: string[] = [];
    const { clock, work, settled } = await open(20, {
      show: async (_chat, _rows, { reply }) => {
        failed.push(reply);
        throw new Error("no");
      },
    });
    clock.now += ttlMs;
    await work.settleDue();
    await settled();
    expect(failed).toHaveLength(20);
  });
});
