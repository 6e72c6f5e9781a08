import { AgentTool, LlmAgent } from "@google/adk";
import { call, type Rule, text } from "adk-stream-protocol/testing";
import type { UIMessage } from "ai";
import { describe, expect, it, vi } from "vitest";
import { expectSound } from "../fixtures/sound.ts";
import { stageRules } from "../fixtures/stage.ts";
import { majors, stockChat } from "../fixtures/stock-chat.ts";
import { storeKinds } from "../fixtures/store-kinds.ts";
import {
  answer,
  asked,
  decide,
  demoTools,
  ledger,
  messagesOf,
  openSlowWorld,
  openWorld,
  quiet,
  say,
  sequence,
  states,
  type World,
} from "../fixtures/world.ts";

const ttl = 60_000;
const bridge = { approvalTtlMs: ttl, startMs: 30_000 };

const parts = (messages: UIMessage[], type: string) =>
  messages.flatMap((message) => message.parts.filter((part) => part.type === type));
const modelInput = ({ gemini }: World) => JSON.stringify(gemini.requests.at(-1)!.contents);

async function logLength(world: World): Promise<number> {
  return world.store.lastSequence((await world.store.findChat("local", "chat-1", "root_agent"))!.id);
}

for (const { name, options } of storeKinds)
  describe(`a server on ${name}`, () => {
    it("expires an unanswered question on time, not before, and tells the page and the model", async () => {
      const world = await openWorld({ ...options(), bridge });
      const { approvalId } = asked(await say(world, "pay"));
      const [{ expiresAt } = {}] = await ledger(world);
      expect(expiresAt).toBe(world.clock.now + ttl);
      world.clock.now += ttl - 1;
      await world.bridge.sweep();
      await quiet(world);
      expect((await ledger(world)).map(({ state }) => state)).toEqual(["pending"]);

      world.clock.now += 1;
      await world.bridge.sweep();
      await quiet(world);
      expect(await ledger(world)).toMatchObject([{ id: approvalId, state: "expired" }]);
      const messages = await messagesOf(world);
      expect(parts(messages, "data-approval")).toMatchObject([{ id: approvalId, data: { state: "expired" } }]);
      expect(parts(messages, "tool-process_payment")).toMatchObject([
        {
          state: "output-denied",
          approval: { id: approvalId, approved: false, reason: expect.stringContaining("Nobody answered") as string },
        },
      ]);
      expect(world.gemini.requests).toHaveLength(2);
      expect(world.gemini.requests[1]!.responses).toMatchObject([{ response: { status: "expired" } }]);
      expect(JSON.stringify(parts(messages, "text"))).toContain("process_payment gave");
      expect(world.payments).toEqual([]);
      await expectSound(world);
    });

    it("accepts an answer in the last millisecond, but not at the time itself", async () => {
      const world = await openWorld({ ...options(), bridge });
      for (const [chat, early, state] of [
        ["in-time", 1, "succeeded"],
        ["too-late", 0, "expired"],
      ] as const) {
        const question = asked(await say(world, "pay", { chat }));
        const [{ expiresAt } = {}] = await ledger(world, chat);
        world.clock.now = expiresAt! - early;
        expect(states(await answer(world, [{ ...question, approved: true }], { chat })).at(-1)).toBe(state);
      }
      expect(world.payments).toHaveLength(1);
    });

    it("X32: text after its time and before the sweep finds a question that expired, not one it cancels", async () => {
      const world = await openWorld({ ...options(), bridge });
      const { approvalId } = asked(await say(world, "pay"));
      world.clock.now += ttl;
      expect(states(await say(world, "hello"))).toEqual(["expired"]);
      await quiet(world);
      expect(await ledger(world)).toMatchObject([{ id: approvalId, state: "expired" }]);
      const messages = await messagesOf(world);
      expect(parts(messages, "data-approval").at(-1)).toMatchObject({ id: approvalId, data: { state: "expired" } });
      expect(parts(messages, "tool-process_payment")).toMatchObject([{ state: "output-denied" }]);
      expect(world.gemini.requests).toHaveLength(2);
      expect(modelInput(world)).toContain("Nobody answered the approval request in time");
      await world.bridge.sweep();
      await quiet(world);
      expect(world.gemini.requests).toHaveLength(2);
      expect(world.payments).toEqual([]);
      await expectSound(world);
    });

    it("expires a question at the start that ran out while no process was running, and tells the model", async () => {
      const world = await openWorld({ ...options(), bridge });
      await say(world, "pay");
      await world.server.close();
      world.clock.now += ttl;
      await world.restart();
      await quiet(world);
      expect((await ledger(world)).map(({ state }) => state)).toEqual(["expired"]);
      expect(world.gemini.requests).toHaveLength(2);
      expect(world.payments).toEqual([]);
      await expectSound(world);
    });

    it("expires a call that was approved but not started in time, and refuses every later answer", async () => {
      const world = await openWorld({ ...options(), bridge });
      const { approvalId } = asked(await say(world, "pay"));
      world.dieAt(
        ({ when, operation, args }) =>
          when === "before" && operation === "move" && (args[1] as { event: string }).event === "claim",
      );
      await decide(world, approvalId, true).catch(() => undefined);
      world.clock.now += 30_000;
      await world.crash();
      await quiet(world);
      expect(await ledger(world)).toMatchObject([{ state: "expired" }]);
      expect(world.payments).toEqual([]);
      expect(modelInput(world)).toContain("not started in time");
      expect(await decide(world, approvalId, true)).toMatchObject({ status: 409, body: { state: "expired" } });
      await world.bridge.sweep();
      expect(world.payments).toEqual([]);
      await expectSound(world);
    });
  });

describe("a late answer", () => {
  for (const approved of [true, false])
    it(`in the chat is refused and settles the call, before and after a sweep (${approved ? "yes" : "no"})`, async () => {
      const world = await openWorld({ bridge });
      for (const swept of [true, false]) {
        const chat = `swept-${swept}`;
        const question = asked(await say(world, "pay", { chat }));
        const requests = world.gemini.requests.length;
        world.clock.now += ttl;
        if (swept) {
          await world.bridge.sweep();
          await quiet(world, chat);
        }
        const reply = await answer(world, [{ ...question, approved }], { chat });
        expect(sequence(reply)).toBe(`start ${approved ? "toe" : "tod"} ss ${swept ? "" : "text "}fs finish [DONE]`);
        expect(states(reply)).toEqual(["expired"]);
        await quiet(world, chat);
        expect(world.gemini.requests).toHaveLength(requests + 1);
        expect(modelInput(world)).toContain("Nobody answered the approval request in time");
        await expectSound(world, { chat });
      }
      expect(world.payments).toEqual([]);
    });

  it("X32: a second yes after the time for a browser tool's result finds that it is not known, and the model is told", async () => {
    const world = await openWorld({ bridge: { ...bridge, tools: { get_location: { reportMs: ttl } } } });
    const question = { ...asked(await say(world, "where")), approved: true, toolName: "get_location" };
    await answer(world, [question]);
    world.clock.now += ttl;
    expect(states(await answer(world, [question])).at(-1)).toBe("indeterminate");
    await quiet(world);
    expect(await ledger(world)).toMatchObject([{ state: "indeterminate" }]);
    expect(world.gemini.requests).toHaveLength(2);
    expect(modelInput(world)).toContain("no result was reported in time");
    await world.bridge.sweep();
    await quiet(world);
    expect(world.gemini.requests).toHaveLength(2);
    await expectSound(world);
  });

  it("outside the chat is refused with the state, and the chat continues", async () => {
    const world = await openWorld({ bridge });
    const { approvalId } = asked(await say(world, "pay"));
    world.clock.now += ttl;
    expect(await decide(world, approvalId, true)).toMatchObject({
      status: 409,
      body: { code: "conflict", state: "expired" },
    });
    await quiet(world);
    expect(parts(await messagesOf(world), "data-approval")).toMatchObject([{ data: { state: "expired" } }]);
    expect(world.gemini.requests).toHaveLength(2);
    expect(world.payments).toEqual([]);
    await expectSound(world);
  });

  it("outside the chat makes the server tell the model once, also if ten come at once", async () => {
    const world = await openWorld({ bridge });
    const { approvalId } = asked(await say(world, "pay"));
    world.clock.now += ttl;
    const results = await Promise.all(
      Array.from({ length: 10 }, () => world.bridge.decide("local", { approvalId, approved: true })),
    );
    expect(new Set(results.map(({ outcome }) => outcome))).toEqual(new Set(["refused"]));
    await quiet(world);
    expect(world.gemini.requests).toHaveLength(2);
    const { log } = await expectSound(world);
    expect(log.filter(({ kind }) => kind === "begin")).toHaveLength(2);
  });

  for (const [name, ai] of majors)
    it(`is sent once by ${name}: two requests, no loop`, async () => {
      const world = await openWorld({ bridge });
      const { chat, requests, settled, errors } = stockChat(ai, world);
      await chat.sendMessage({ text: "pay" });
      const [part] = parts(await settled(), "tool-process_payment") as unknown as { approval: { id: string } }[];
      world.clock.now += ttl;
      await chat.addToolApprovalResponse({ id: part!.approval.id, approved: true });
      const messages = await settled();
      expect(errors).toEqual([]);
      expect(requests).toHaveLength(2);
      expect(parts(messages, "tool-process_payment")).toMatchObject([{ state: "output-error" }]);
      expect(parts(messages, "data-approval")).toMatchObject([{ data: { state: "expired" } }]);
      expect(world.payments).toEqual([]);
      await ai.validateUIMessages({ messages });
    });
});

describe("the sweep", () => {
  it("runs by itself", async () => {
    const world = await openWorld({ bridge: { ...bridge, sweepMs: 5 } });
    await say(world, "pay");
    world.clock.now += ttl;
    await vi.waitFor(async () => expect(await ledger(world)).toMatchObject([{ state: "expired" }]), {
      timeout: 5000,
      interval: 5,
    });
    await quiet(world);
    expect(world.gemini.requests).toHaveLength(2);
    await expectSound(world);
  });

  it("writes nothing if nothing is due, also while an answered call waits for another call of its step", async () => {
    const world = await openWorld({ bridge });
    const question = await say(world, "two payments");
    await answer(world, [{ ...asked(question), approved: false }]);
    const before = await logLength(world);
    for (let round = 0; round < 3; round += 1) await world.bridge.sweep();
    await quiet(world);
    expect(await logLength(world)).toBe(before);
    await world.restart();
    await quiet(world);
    expect(await logLength(world)).toBe(before);
    expect(world.gemini.requests).toHaveLength(1);
  });

  it("tells the model about an answered and an expired call of one step together", async () => {
    const world = await openWorld({ bridge });
    const question = await say(world, "two payments");
    await answer(world, [{ ...asked(question), approved: true }]);
    world.clock.now += ttl;
    await world.bridge.sweep();
    await quiet(world);
    expect(world.payments).toEqual([{ amount: 30, recipient: "Alice" }]);
    expect(world.gemini.requests).toHaveLength(2);
    expect(world.gemini.requests[1]!.responses.map(({ response }) => response)).toMatchObject([
      { paid: 30 },
      { status: "expired" },
    ]);
    await expectSound(world);
  });

  it("does not end a running tool, however long it takes", async () => {
    const { world, started, finish } = await openSlowWorld({ bridge: { ...bridge, graceMs: 20 } });
    const question = asked(await say(world, "pay"));
    const reply = answer(world, [{ ...question, approved: true }]);
    await started;
    world.clock.now += 10 * ttl;
    await world.bridge.sweep();
    expect(await ledger(world)).toMatchObject([{ state: "executing" }]);
    finish();
    expect(states(await reply)).toEqual(["approved", "executing", "succeeded"]);
    await quiet(world);
    expect(world.payments).toHaveLength(1);
    await expectSound(world);
  });
});

describe("other calls that wait", () => {
  it("a browser tool without a result may have had an effect, and the model is told so", async () => {
    const world = await openWorld({
      bridge: { ...bridge, tools: { change_bgm: { reportMs: ttl } } },
      rules: stageRules,
    });
    await say(world, "music");
    world.clock.now += ttl;
    await world.bridge.sweep();
    await quiet(world);
    expect(world.gemini.requests).toHaveLength(2);
    expect(modelInput(world)).toContain("no result was reported in time");
    expect(parts(await messagesOf(world), "tool-change_bgm")).toMatchObject([{ state: "output-error" }]);
    await expectSound(world);
  });

  it("an agent run as a tool waits as long as its own questions, one after the other", async () => {
    const payments: World["payments"] = [];
    const rules: Rule[] = [
      {
        when: ({ toolNames, responses }) =>
          toolNames.includes("process_payment") && responses.some(({ args }) => args["amount"] === 2),
        say: [text("The clerk is done.")],
      },
      {
        when: ({ toolNames, responses }) => toolNames.includes("process_payment") && responses.length > 0,
        say: [call("process_payment", { amount: 2, recipient: "Second" })],
      },
      {
        when: ({ toolNames }) => toolNames.includes("process_payment"),
        say: [call("process_payment", { amount: 1, recipient: "First" })],
      },
      {
        when: ({ responses }) => responses.length > 0,
        say: ({ responses }) => [text(JSON.stringify(responses[0]!.response))],
      },
      { say: [call("clerk", { request: "pay both" })] },
    ];
    const world = await openWorld({
      rules,
      bridge,
      agent: ({ model }) => {
        const clerk = new LlmAgent({
          name: "clerk",
          description: "Pays.",
          model: model(),
          tools: demoTools(payments).slice(0, 1),
        });
        return new LlmAgent({ name: "root_agent", model: model(), tools: [new AgentTool({ agent: clerk })] });
      },
    });
    await say(world, "pay both");
    for (let round = 0; round < 2; round += 1) {
      const pending = (await ledger(world)).find(({ state }) => state === "pending")!;
      world.clock.now += ttl - 1;
      await world.bridge.sweep();
      await quiet(world);
      await decide(world, pending.id, true);
      await quiet(world);
    }
    expect(payments.map(({ amount }) => amount)).toEqual([1, 2]);
    expect(JSON.stringify(parts(await messagesOf(world), "text"))).toContain("The clerk is done.");
    await expectSound(world);
  });

  it("a question inside an agent run as a tool expires, and the agent continues with that", async () => {
    const world = await openWorld({
      bridge,
      rules: [
        {
          when: ({ toolNames, responses }) => toolNames.includes("process_payment") && responses.length > 0,
          say: ({ responses }) => [text(`The clerk heard ${JSON.stringify(responses[0]!.response["status"])}.`)],
        },
        {
          when: ({ toolNames }) => toolNames.includes("process_payment"),
          say: [call("process_payment", { amount: 1, recipient: "First" })],
        },
        {
          when: ({ responses }) => responses.length > 0,
          say: ({ responses }) => [text(JSON.stringify(responses[0]!.response))],
        },
        { say: [call("clerk", { request: "pay" })] },
      ],
      agent: ({ model }) => {
        const clerk = new LlmAgent({
          name: "clerk",
          description: "Pays.",
          model: model(),
          tools: demoTools([]).slice(0, 1),
        });
        return new LlmAgent({ name: "root_agent", model: model(), tools: [new AgentTool({ agent: clerk })] });
      },
    });
    await say(world, "pay");
    world.clock.now += ttl;
    await world.bridge.sweep();
    await quiet(world);
    expect((await ledger(world)).map(({ state }) => state)).toEqual(["expired"]);
    expect(JSON.stringify(parts(await messagesOf(world), "text"))).toContain("The clerk heard");
    await expectSound(world);
  });
});
