import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { memoryStore } from "../../stores/memory.ts";
import { overrideStore } from "../../stores/override-store.ts";
import { silentLogger as logger } from "../support/index.ts";
import { releaseCall } from "./release-call.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

const nothing = { done: {}, unknown: [] };

/** A store that fails so many times before it changes a row, and a question in it. */
async function open(failures: number) {
  const memory = memoryStore({ now: () => 0 });
  const { id: chat } = await memory.openChat({ owner: "me", name: "chat", appName: "app" });
  const call = { id: "apr_1", chat, session: chat, owner: "me", toolCallId: "c1", toolName: "pay", input: "{}" };
  const row = await memory.createApproval({
    ...{ ...call, digest: "d", messageId: "m", agent: "agent", mode: "request", state: "pending", gated: true },
    ...{ external: false, effect: "opaque", ttlMs: 1000, startMs: 1000, requestedBy: "me" },
  });
  let left = failures;
  const store = overrideStore(memory, {
    async move(...args) {
      left -= 1;
      if (left >= 0) throw new Error("The store is away.");
      return memory.move(...args);
    },
  });
  const release = async (isLeft = () => false) => {
    const released = releaseCall(row, isLeft, { store, logger });
    await vi.advanceTimersByTimeAsync(60_000);
    return released;
  };
  return { store, row, release, found: () => memory.getApproval(row.id) };
}

it("cancels a call although the store is away at first", async () => {
  const { release, found } = await open(4);
  expect(await release()).toEqual(nothing);
  expect(await found()).toMatchObject({ state: "cancelled", told: true });
});

it("leaves it to the row if the store is away for long", async () => {
  const { release, found } = await open(Infinity);
  expect(await release()).toBeUndefined();
  expect(await found()).toMatchObject({ state: "pending" });
});

it("leaves the row to a node that goes on with the turn meanwhile", async () => {
  const { release, found } = await open(2);
  let asked = 0;
  expect(await release(() => (asked += 1) > 3)).toBeUndefined();
  expect(await found()).toMatchObject({ state: "pending" });
});

it("says that a call has ended which someone else has cancelled, and not one that runs", async () => {
  const cancelled = await open(0);
  await cancelled.store.move(cancelled.row.id, { event: "cancel" });
  expect(await cancelled.release()).toEqual(nothing);
  const running = await open(0);
  await running.store.move(running.row.id, { event: "approve", by: "me" });
  await running.store.move(running.row.id, { event: "claim", leaseOwner: "node", leaseMs: 1000 });
  expect(await running.release()).toBeUndefined();
  expect(await running.found()).toMatchObject({ state: "executing" });
});
