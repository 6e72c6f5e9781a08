/** Expiry stays calm: bursts are spread, questions end while the user is away, and nothing is due for ever. */
import { setImmediate as tick } from "node:timers/promises";
import { call, gate, pause, type Rule, text } from "adk-stream-protocol/testing";
import { describe, expect, it, vi } from "vitest";
import { liveRules, openLiveStage } from "../fixtures/live-stage.ts";
import { nodeCount } from "../fixtures/nodes.ts";
import { expectSound } from "../fixtures/sound.ts";
import { storeKinds } from "../fixtures/store-kinds.ts";
import { decide, get, ledger, openWorld, payRules, quiet, say, userMessage, type World } from "../fixtures/world.ts";

const ttl = 60_000;
const bridge = { approvalTtlMs: ttl, startMs: 30_000 };
const names = (count: number) => Array.from({ length: count }, (_, index) => `chat-${index + 1}`);

/** Asks one question in each chat. */
async function askInEach(world: World, chats: readonly string[]): Promise<void> {
  for (let start = 0; start < chats.length; start += 20)
    await Promise.all(
      chats.slice(start, start + 20).map(async (chat) => {
        const reply = await world.bridge.submit("local", chat, { type: "message", message: userMessage("pay") });
        if ("turn" in reply) await reply.turn.done;
      }),
    );
}

const rowsOf = (world: World) => world.store.listApprovals({ owner: "local" });
const until = (isSo: () => Promise<void> | void) => vi.waitFor(isSo, { timeout: 60_000, interval: 20 });

/** A model that thinks about outcomes until the test lets it go on. Counts how many chats ask it at once. */
function slowModel() {
  const counts = { asked: 0, active: 0, most: 0 };
  const go = gate();
  const rule: Rule = {
    when: ({ responses }) => responses.length > 0,
    say: () => {
      counts.asked += 1;
      counts.active += 1;
      counts.most = Math.max(counts.most, counts.active);
      const over = go.opened.then(() => tick()).then(() => void (counts.active -= 1));
      return [pause(over), text("I see.")];
    },
  };
  return { counts, rules: [rule, ...payRules.slice(1)], go: go.open };
}

for (const { name, options } of storeKinds)
  describe(`many questions that expire together, on ${name}`, () => {
    // SQLite waits for the disk with each question, so it gets fewer.
    const count = name === "memory" ? 500 : 60;

    // Each process counts for itself.
    it.runIf(nodeCount === 1)(
      "X18: all expire at once, and at most eight chats ask the model at a time",
      { timeout: 120_000 },
      async () => {
        const { counts, rules, go } = slowModel();
        const world = await openWorld({ ...options(), rules, bridge: { ...bridge, graceMs: 20 } });
        const chats = names(60);
        await askInEach(world, chats);
        world.clock.now += ttl;
        await world.bridge.sweep();
        await until(() => expect(counts.asked).toBe(8));
        await until(async () => expect((await rowsOf(world)).every(({ state }) => state === "expired")).toBe(true));
        for (let round = 0; round < 3; round += 1) await world.bridge.sweep();
        await tick();
        expect(counts.asked).toBe(8);
        // A chat that does not wait for the model is not held up.
        expect((await say(world, "hello", { chat: "other" })).status).toBe(200);
        go();
        await until(() => expect(counts.asked).toBe(60));
        await until(async () => expect(await world.store.dueApprovals()).toEqual([]));
        expect(counts.most).toBe(8);
        for (const chat of [...chats.slice(0, 3), ...chats.slice(-3)]) {
          await quiet(world, chat);
          await expectSound(world, { chat });
        }
        expect(world.payments).toEqual([]);
      },
    );

    it(
      `X18: kill -9 does not bring the burst back: ${count} due chats, killed twice`,
      { timeout: 240_000 },
      async () => {
        const { counts, rules, go } = slowModel();
        const world = await openWorld({ ...options(), rules, bridge: { ...bridge, graceMs: 20 } });
        const chats = names(count);
        await askInEach(world, chats);
        world.clock.now += ttl;
        for (let life = 0; life < 2; life += 1) {
          counts.asked = 0;
          await world.crash();
          await until(() => expect(counts.asked).toBe(8));
          await until(async () => expect((await rowsOf(world)).every(({ state }) => state === "expired")).toBe(true));
          expect(counts.asked).toBe(8);
        }
        counts.active = 0;
        go();
        await until(async () => expect((await rowsOf(world)).every(({ told }) => told)).toBe(true));
        // Eight of the second life, and eight that the first kill cut off, which count too.
        expect(counts.most).toBeLessThanOrEqual(16);
        expect(await world.store.dueApprovals()).toEqual([]);
        expect(world.payments).toEqual([]);
      },
    );
  });

/** A model that asks to pay again whatever happens: the same amount, or another one each time. */
function insistent(amounts: "same" | "other", perStep = 1): Rule[] {
  let amount = 0;
  const payment = () =>
    call("process_payment", { amount: amounts === "same" ? 50 : (amount += 1), recipient: "Hanako" });
  return [
    { when: /weather/, say: [text("Sunny.")] },
    { when: ({ responses }) => responses.length > 0, say: () => Array.from({ length: perStep }, payment) },
    { say: () => [payment()] },
  ];
}

/** The question expires while the user is away. */
async function expireOnce(world: World): Promise<void> {
  world.clock.now += ttl;
  await world.bridge.sweep();
  await quiet(world);
}

for (const { name, options } of storeKinds)
  describe(`a model that asks again after each expiry, on ${name}`, () => {
    const open = (rules: Rule[]) => openWorld({ ...options(), rules, bridge });

    it("X19: may ask the same question once more while the user is away", async () => {
      const world = await open(insistent("same"));
      await say(world, "pay");
      for (let round = 0; round < 6; round += 1) await expireOnce(world);
      expect((await ledger(world)).map(({ state }) => state)).toEqual(["expired", "expired"]);
      expect(world.gemini.requests).toHaveLength(2);
      expect(await world.store.dueApprovals()).toEqual([]);
      await say(world, "weather");
      expect(JSON.stringify(world.gemini.requests.at(-1)?.contents).split("Nobody answered")).toHaveLength(3);
      expect(world.payments).toEqual([]);
      await expectSound(world);
    });

    it("X19: may ask three different questions while the user is away, also over restarts", async () => {
      const world = await open(insistent("other"));
      await say(world, "pay");
      for (let round = 0; round < 6; round += 1) {
        await expireOnce(world);
        if (round % 2 === 0) await world.restart();
        else await world.crash();
        await quiet(world);
      }
      expect((await ledger(world)).map(({ state }) => state)).toEqual(["expired", "expired", "expired"]);
      expect(world.gemini.requests).toHaveLength(3);
      expect(await world.store.dueApprovals()).toEqual([]);
      await expectSound(world);
    });

    it("X19: three in all also if it asks many in one step", async () => {
      const world = await open(insistent("other", 5));
      await say(world, "pay");
      for (let round = 0; round < 4; round += 1) await expireOnce(world);
      expect((await ledger(world)).map(({ state }) => state)).toEqual(["expired", "expired", "expired"]);
      expect(world.gemini.requests).toHaveLength(2);
      await say(world, "weather");
      await expectSound(world);
    });

    for (const [visit, come] of [
      ["reads the messages", (world: World) => get(world, "/stream/chat-1/messages")],
      ["opens a socket", async (world: World) => world.bridge.attach("local", "chat-1")()],
      ["resumes a reply", (world: World) => get(world, "/stream/chat-1/stream")],
    ] as const)
      // A visit that is not in the store is known to the process that it came to. The others reach the limit sooner.
      it.runIf(nodeCount === 1)(`X19: may go on asking when the owner ${visit}`, async () => {
        const world = await open(insistent("same"));
        await say(world, "pay");
        for (let round = 0; round < 5; round += 1) {
          await expireOnce(world);
          await come(world);
        }
        expect(await ledger(world)).toHaveLength(6);
      });

    it("X19: a decision counts as a visit, and asks the model", async () => {
      const world = await open(insistent("other"));
      await say(world, "pay");
      for (let round = 0; round < 2; round += 1) await expireOnce(world);
      const pending = (await ledger(world)).find(({ state }) => state === "pending");
      await decide(world, pending?.id ?? "", false);
      await quiet(world);
      expect(await ledger(world)).toHaveLength(4);
      for (let round = 0; round < 4; round += 1) await expireOnce(world);
      expect(await ledger(world)).toHaveLength(6);
    });

    it("X19: a message that makes five questions at once is not limited", async () => {
      const five = Array.from({ length: 5 }, (_, index) =>
        call("process_payment", { amount: index, recipient: "Hanako" }),
      );
      const world = await open([{ when: ({ responses }) => responses.length === 0, say: five }]);
      await say(world, "pay");
      expect((await ledger(world)).map(({ state }) => state)).toEqual(five.map(() => "pending"));
      await expireOnce(world);
      expect(world.gemini.requests).toHaveLength(1);
    });

    it("X19: is limited over a live connection too, and told with the next message", async () => {
      const stage = await openLiveStage({
        ...options(),
        rules: [
          { when: /weather/, say: [text("Sunny.")] },
          {
            when: ({ responses }) => responses.length > 0,
            say: [call("process_payment", { amount: 50, recipient: "Hanako" })],
          },
          ...liveRules,
        ],
      });
      await stage.say("pay");
      for (let round = 0; round < 5; round += 1) {
        stage.clock.now += 61_000;
        await stage.sweep();
        await stage.untilIdle();
      }
      expect((await stage.rows()).map(({ state }) => state)).toEqual(["expired", "expired"]);
      expect(await stage.store.dueApprovals()).toEqual([]);
      expect(stage.responses()).toHaveLength(1);
      await stage.say("weather");
      // With a database the model may respond to the outcome before it gets the message, with another question.
      const told = (await stage.rows()).map((row) => row.told);
      expect(nodeCount === 1 ? told : told.slice(0, 2)).toEqual([true, true]);
    });
  });

for (const { name, options } of storeKinds)
  describe(`questions of abandoned live chats, on ${name}`, () => {
    it("X17: leave the due list when the log shows that they expired, and do not come back", async () => {
      const world = await openWorld({ ...options(), bridge });
      const chats = names(name === "memory" ? 1000 : 60);
      for (const chat of chats) {
        const { id } = await world.store.openChat({ owner: "local", name: chat, appName: "root_agent" });
        const reply = `msg-${chat}`;
        await world.store.holdChat(id, ttl);
        await world.store.append(id, [
          { turn: chat, kind: "begin", reply },
          { turn: chat, kind: "end" },
        ]);
        await world.store.createApproval({
          ...{ id: `apr-${chat}`, chat: id, session: id, owner: "local", toolCallId: "call", messageId: reply },
          ...{ toolName: "process_payment", input: "{}", digest: "digest", agent: "root_agent", mode: "live" },
          ...{ external: false, effect: "opaque", gated: true, state: "pending", ttlMs: ttl, startMs: ttl },
        });
        await world.store.releaseChats([id]);
      }
      world.clock.now += ttl;
      await world.crash();
      await until(async () => expect(await world.store.dueApprovals()).toEqual([]));
      // A row is due for the node that has its chat, and for no other.
      if (world.nodesQuiet)
        await until(async () => expect((await rowsOf(world)).every(({ shown }) => shown)).toBe(true));
      const rows = await rowsOf(world);
      expect(rows.every(({ state, told, shown }) => state === "expired" && !told && shown)).toBe(true);
      const lengths = async () =>
        Promise.all(
          rows.map(async ({ chat }) => (await world.store.read(chat)).filter(({ kind }) => kind === "begin").length),
        );
      expect(new Set(await lengths())).toEqual(new Set([2]));
      await world.restart();
      await world.bridge.sweep();
      expect(new Set(await lengths())).toEqual(new Set([2]));
      expect(world.gemini.requests).toEqual([]);
    });

    it("X17: an answered call whose step goes on waiting is not due", async () => {
      const world = await openWorld({ ...options(), bridge });
      await say(world, "two payments");
      const [first] = await ledger(world);
      await decide(world, first?.id ?? "", false);
      await quiet(world);
      expect(await rowsOf(world)).toMatchObject([{ state: "denied", told: false, shown: true }, { state: "pending" }]);
      expect(await world.store.dueApprovals()).toEqual([]);
    });
  });
