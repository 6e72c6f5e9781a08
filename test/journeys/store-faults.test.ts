/** A store that fails once, at each of its operations in turn: what was recorded is shown all the same, without a restart. */
import { AgentTool, FunctionTool, LlmAgent } from "@google/adk";
import { BridgeError } from "adk-stream-protocol/protocol";
import type { LogEntry, Store } from "adk-stream-protocol/stores";
import { memoryStore } from "adk-stream-protocol/stores/memory";
import { call, gate, text } from "adk-stream-protocol/testing";
import { describe, expect, it, test } from "vitest";
import { faulty } from "../fixtures/faulty-store.ts";
import { storeKinds } from "../fixtures/store-kinds.ts";
import { asked, messagesOf, openWorld, post, quiet, say, textOf, type World } from "../fixtures/world.ts";

const ttl = 60_000;
const bridge = { approvalTtlMs: ttl, startMs: ttl, graceMs: 50 };
/** The operation after the one that records a decision. */
const afterDecision = 7;
const deny = (world: World, id: string) => post(world, `/approvals/${id}`, { approved: false });

/** A world whose store fails once, at the operation with this number after `arm`. `failed` is that operation. */
async function openFaulty(number: number, store: (now: () => number) => Store = (now) => memoryStore({ now })) {
  let left = Infinity;
  let failed: string | undefined;
  const world = await openWorld({
    bridge,
    store: (now) =>
      faulty(store(now), (operation) => {
        left -= 1;
        if (left === 0) failed = operation;
        return left === 0;
      }),
  });
  return { world, arm: () => void (left = number), failed: () => failed };
}

/** True when the log says what became of the only row. */
async function isShown(world: World): Promise<boolean> {
  const [row] = await world.store.listApprovals({ owner: "local" });
  const log = await world.store.read(row?.chat ?? "");
  return log.some((entry) => entry.kind === "chunk" && JSON.stringify(entry.chunk).includes(`"state":"${row?.state}"`));
}

const stories: [string, (world: World, id: string) => Promise<unknown>][] = [
  [
    "an expiry",
    async (world) => {
      world.clock.now += ttl;
      await world.bridge.sweep();
    },
  ],
  ["a denial", deny],
];

test.each(stories)("%s is shown by a later sweep", { timeout: 120_000 }, async (_name, act) => {
  const unshown: string[] = [];
  for (let number = 1; ; number += 1) {
    const { world, arm, failed } = await openFaulty(number);
    const { approvalId } = asked(await say(world, "pay"));
    arm();
    await act(world, approvalId);
    await quiet(world);
    const operation = failed();
    if (operation === undefined) break;
    const [row] = await world.store.listApprovals({ owner: "local" });
    if (row?.state === "pending") await act(world, approvalId);
    for (let round = 0; round < 2; round += 1) {
      world.clock.now += 30_000;
      await world.bridge.sweep();
      await quiet(world);
    }
    if (!(await isShown(world))) unshown.push(`${number} ${operation}`);
    expect(world.payments).toEqual([]);
    await world.close();
  }
  expect(unshown).toEqual([]);
});

describe.each(storeKinds)("on $name", ({ options }) => {
  it("a denial that is sent again after an error continues the chat, once", async () => {
    const { world, arm, failed } = await openFaulty(afterDecision, options().store);
    const { approvalId } = asked(await say(world, "pay"));
    arm();
    expect((await deny(world, approvalId)).status).toBe(500);
    expect(failed()).toBeDefined();
    expect(await isShown(world)).toBe(false);
    expect((await deny(world, approvalId)).status).toBe(200);
    await quiet(world);
    expect(await isShown(world)).toBe(true);
    expect(world.gemini.requests).toHaveLength(2);
    expect((await deny(world, approvalId)).status).toBe(200);
    await quiet(world);
    expect(world.gemini.requests).toHaveLength(2);
  });

  it("what a sweep shows late is told to the model with the next message", async () => {
    const { world, arm } = await openFaulty(afterDecision, options().store);
    const { approvalId } = asked(await say(world, "pay"));
    arm();
    await deny(world, approvalId);
    world.clock.now += 29_999;
    await world.bridge.sweep();
    expect(await isShown(world)).toBe(false);
    world.clock.now += 30_001;
    await world.bridge.sweep();
    await quiet(world);
    expect(world.gemini.requests).toHaveLength(1);
    expect(JSON.stringify(await messagesOf(world))).toContain("output-denied");
    expect(textOf(await say(world, "weather"))).not.toBe("");
    const rows = await world.store.listApprovals({ owner: "local" });
    expect(rows).toMatchObject([{ state: "denied", told: true }]);
    expect(await world.store.dueApprovals()).toEqual([]);
  });
});

test("an agent that is run as a tool has not failed because the store did", { timeout: 120_000 }, async () => {
  const wrong: string[] = [];
  for (let number = 1; ; number += 1) {
    let left = Infinity;
    let failed: string | undefined;
    const world = await openWorld({
      bridge,
      store: (now) =>
        faulty(memoryStore({ now }), (operation) => {
          left -= 1;
          if (left === 0) failed = operation;
          return left === 0;
        }),
      rules: [
        { when: ({ responses }) => responses.length > 0, say: [text("Done.")] },
        {
          when: ({ toolNames }) => toolNames.includes("process_payment"),
          say: () => {
            if (failed === undefined) left = number;
            return [call("process_payment", { amount: 5, recipient: "Hanako" }, { id: "c-1" })];
          },
        },
        { say: [call("clerk", { request: "pay" })] },
      ],
      agent: ({ model, tools }) => {
        const clerk = new LlmAgent({ name: "clerk", description: "Pays.", model: model(), tools });
        return new LlmAgent({ name: "root_agent", model: model(), tools: [new AgentTool({ agent: clerk })] });
      },
    });
    await say(world, "pay");
    await quiet(world);
    world.clock.now += 31_000;
    await world.bridge.sweep();
    await quiet(world);
    left = Infinity;
    const rows = await world.store.listApprovals({ owner: "local" });
    for (const { toolName, state, outcome } of rows)
      if (state === "failed") wrong.push(`${number} ${failed}: ${toolName} is ${state} ${JSON.stringify(outcome)}`);
    const isOver = failed === undefined;
    await world.close();
    if (isOver) break;
  }
  expect(wrong).toEqual([]);
});

test("a sweep that finds the store away ends without an error, so that it does not end the process", async () => {
  let isAway = false;
  const world = await openWorld({ store: (now) => faulty(memoryStore({ now }), () => isAway) });
  isAway = true;
  await expect(world.bridge.sweep()).resolves.toBe(undefined);
  isAway = false;
  expect(textOf(await say(world, "hello"))).toBe("Hello there, friend.");
});

test("a message that could not be recorded is refused, and can be sent again", async () => {
  let isAway = false;
  const world = await openWorld({
    store: (now) => faulty(memoryStore({ now }), (operation) => isAway && operation === "append"),
  });
  isAway = true;
  expect((await say(world, "hello")).status).toBe(500);
  isAway = false;
  expect(textOf(await say(world, "hello"))).toBe("Hello there, friend.");
  expect(await messagesOf(world)).toHaveLength(2);
});

/** A store that makes an append and then loses the reply, once. */
function losingReply(store: Store, isLost: (entries: Parameters<Store["append"]>[1]) => boolean): Store {
  let left = 1;
  return new Proxy(store, {
    get(target, name: keyof Store) {
      if (name !== "append") return target[name];
      return async (...args: Parameters<Store["append"]>) => {
        const appended = await target.append(...args);
        if (left === 0 || !isLost(args[1])) return appended;
        left -= 1;
        throw new BridgeError("unavailable", "The database does not answer.");
      };
    },
  });
}

const edges = (log: readonly LogEntry[]) =>
  log.flatMap(({ kind }) => (kind === "begin" || kind === "end" ? [kind] : []));

test("a turn that began although the reply of the store was lost is ended before the next one begins", async () => {
  const isBegin = (entries: readonly { kind: string }[]) => entries.some(({ kind }) => kind === "begin");
  const world = await openWorld({ store: (now) => losingReply(memoryStore({ now }), isBegin) });
  const leave = world.bridge.attach("local", "chat-1");
  expect((await say(world, "hello")).status).toBe(503);
  expect(textOf(await say(world, "weather"))).not.toBe("");
  leave();
  await quiet(world);
  const chat = await world.store.findChat("local", "chat-1", "root_agent");
  const found = edges(await world.store.read(chat?.id ?? ""));
  expect(found.slice(0, 4)).toEqual(["begin", "end", "begin", "end"]);
  expect(found.filter((_, index) => index % 2 === 0)).toEqual(found.slice(0, found.length / 2).map(() => "begin"));
});

test("a sweep while the store is away fails quietly, and the next one goes on", async () => {
  let isAway = false;
  const world = await openWorld({ bridge, store: (now) => faulty(memoryStore({ now }), () => isAway) });
  asked(await say(world, "pay"));
  isAway = true;
  world.clock.now += ttl;
  await world.bridge.sweep();
  isAway = false;
  await world.bridge.sweep();
  expect((await world.store.listApprovals({ owner: "local" }))[0]?.state).toBe("expired");
});

test("a reply that is stopped while the store fails ends, and no call of it stays open", async () => {
  const [begun, counted] = [gate(), gate()];
  const count = new FunctionTool({
    name: "count",
    description: "Counts.",
    execute: async () => {
      begun.open();
      await counted.opened;
      return {};
    },
  });
  let isAway = false;
  const world = await openWorld({
    bridge,
    tools: [count],
    rules: [{ when: /count/, say: [call("count")] }, { say: [text("Hello.")] }],
    store(now) {
      const store = memoryStore({ now });
      const listApprovals: Store["listApprovals"] = async (filter) => {
        if (!isAway || filter.about === undefined) return store.listApprovals(filter);
        isAway = false;
        throw new BridgeError("unavailable", "The database does not answer.");
      };
      return { ...store, listApprovals };
    },
  });
  const reply = say(world, "count");
  await begun.opened;
  isAway = true;
  await post(world, "/stream/chat-1/stop", {});
  expect((await reply).chunks.at(-1)?.type).toBe("error");
  counted.open();
  await quiet(world);
  const [, answer] = await messagesOf(world);
  expect(answer?.parts).toContainEqual(
    expect.objectContaining({ toolCallId: expect.any(String), state: "output-error" }),
  );
  expect(textOf(await say(world, "hello"))).toBe("Hello.");
});
