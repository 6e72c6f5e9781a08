import { AgentTool, FunctionTool, LlmAgent } from "@google/adk";
import {
  call,
  fail,
  gate,
  pause,
  type Rule,
  type ScriptedGemini,
  startScriptedGemini,
  text,
} from "adk-stream-protocol/testing";
import type { EffectClass } from "adk-stream-protocol/protocol";
import type { UIMessage } from "ai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import type { Moment } from "../fixtures/mortal-store.ts";
import { expectSound } from "../fixtures/sound.ts";
import { expectTruth, openStage, stageRules, startStageGemini } from "../fixtures/stage.ts";
import { majors } from "../fixtures/stock-chat.ts";
import { storeKinds } from "../fixtures/store-kinds.ts";
import {
  afterTools,
  answer,
  asked,
  decide,
  demoTools,
  get,
  ledger,
  messagesOf,
  openSlowWorld,
  openWorld,
  payRules,
  post,
  quiet,
  receive,
  say,
  sequence,
  states,
  textOf,
  userMessage,
  type World,
} from "../fixtures/world.ts";

const toolPart = (messages: UIMessage[], index = 0) =>
  messages.flatMap(({ parts }) => parts.filter(({ type }) => type === "tool-process_payment"))[index] as unknown as {
    state: string;
    output?: unknown;
    errorText?: string;
    approval?: { id: string; approved?: boolean; reason?: string };
  };
const notice = (messages: UIMessage[], approvalId: string) =>
  messages
    .flatMap(({ parts }) => parts)
    .findLast((part) => part.type === "data-approval" && "id" in part && part.id === approvalId) as
    | { data: { state: string; errorText?: string } }
    | undefined;
const modelInput = ({ gemini }: Pick<World, "gemini">) => JSON.stringify(gemini.requests.at(-1)!.contents);

for (const { name, options } of storeKinds)
  describe(`a question on ${name}`, () => {
    it("is the same after a restart, and one yes pays once", async () => {
      const world = await openWorld(options());
      const question = asked(await say(world, "pay"));
      const before = { ledger: await ledger(world), messages: await messagesOf(world) };
      await world.restart();
      expect({ ledger: await ledger(world), messages: await messagesOf(world) }).toEqual(before);
      expect(before.ledger).toMatchObject([
        { id: question.approvalId, state: "pending", toolCallId: question.toolCallId },
      ]);
      expect(toolPart(before.messages)).toMatchObject({
        state: "approval-requested",
        approval: { id: question.approvalId },
      });
      for (const [, ai] of majors) await ai.validateUIMessages({ messages: before.messages });

      const reply = await answer(world, [{ ...question, approved: true }]);
      expect(sequence(reply)).toBe("start toa ss text fs finish [DONE]");
      await world.restart();
      await quiet(world);
      expect(world.payments).toEqual([{ amount: 50, recipient: "Hanako" }]);
      expect(world.gemini.requests).toHaveLength(2);
      await expectSound(world);
    });

    it("is the same after a crash at the moment it was asked, and has its card", async () => {
      const world = await openWorld(options());
      world.dieAt(({ when, operation }) => when === "after" && operation === "createApproval");
      await say(world, "pay").catch(() => undefined);
      await world.crash();
      const [row] = await ledger(world);
      expect(toolPart(await messagesOf(world))).toMatchObject({
        state: "approval-requested",
        approval: { id: row!.id },
      });
      await expectSound(world);
      expect((await get(world, "/stream/chat-1/stream")).status).toBe(204);
      await decide(world, row!.id, true);
      await quiet(world);
      expect(world.payments).toHaveLength(1);
      await expectSound(world);
    });

    it("can be answered only from outside: the turn ends by itself, and the page finds it", async () => {
      const world = await openWorld(options());
      const { approvalId } = asked(await say(world, "pay"));
      expect(await decide(world, approvalId, true)).toMatchObject({ status: 200 });
      await quiet(world);
      expect(world.payments).toHaveLength(1);
      const messages = await messagesOf(world);
      expect(messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
      expect(toolPart(messages)).toMatchObject({
        state: "output-available",
        approval: { id: approvalId, approved: true },
      });
      expect(notice(messages, approvalId)!.data.state).toBe("succeeded");
      expect(JSON.stringify(messages)).toContain("process_payment gave");
      await expectSound(world);
    });
  });

describe("a crash around the tool (P6–P11)", () => {
  let gemini: ScriptedGemini;
  beforeAll(async () => {
    gemini = await startStageGemini();
  });
  afterAll(() => gemini.close());

  const moves = (when: Moment["when"], event: string) => (moment: Moment) =>
    moment.when === when && moment.operation === "move" && (moment.args[1] as { event: string }).event === event;
  const points: Record<string, (moment: Moment) => boolean> = {
    "between the decision and the claim": moves("before", "claim"),
    "between the claim and the tool": moves("after", "claim"),
    "between the tool and its record": moves("before", "succeed"),
    "between the record and the history": moves("after", "succeed"),
    "between the history and the model": ({ when, operation, args }) =>
      when === "after" && operation === "appendEvent" && (args[1] as { responses: string[] }).responses.length > 0,
  };
  type Expected = { state: string; attempts: number; effects: number; fence: number };
  const succeeded = (attempts: number, effects: number, fence: number): Expected => ({
    state: "succeeded",
    attempts,
    effects,
    fence,
  });
  const plain = succeeded(1, 1, 1);
  const expected: Record<EffectClass, Record<string, Expected>> = {
    readonly: {
      "between the claim and the tool": succeeded(1, 1, 2),
      "between the tool and its record": succeeded(2, 2, 2),
    },
    idempotent: {
      "between the claim and the tool": succeeded(1, 1, 2),
      "between the tool and its record": succeeded(2, 1, 2),
    },
    transactional: {
      "between the claim and the tool": succeeded(1, 1, 2),
      "between the tool and its record": succeeded(2, 1, 2),
    },
    queryable: {
      "between the claim and the tool": succeeded(1, 1, 2),
      "between the tool and its record": succeeded(1, 1, 2),
    },
    opaque: {
      "between the claim and the tool": { state: "indeterminate", attempts: 0, effects: 0, fence: 1 },
      "between the tool and its record": { state: "indeterminate", attempts: 1, effects: 1, fence: 1 },
    },
  };

  for (const [effect, special] of Object.entries(expected) as [EffectClass, Record<string, Expected>][])
    for (const [name, point] of Object.entries(points))
      it(`${name}, with a tool that is ${effect}`, async () => {
        const stage = await openStage({ gemini, effect });
        await stage.say("pay");
        const [question] = await stage.pending();
        stage.dieAt(point);
        await expect(stage.answer([{ id: question!.id, approved: true }])).rejects.toThrow("died");
        await stage.crash();
        await stage.untilIdle();

        const wanted = special[name] ?? plain;
        const [row] = await stage.rows();
        expect({
          state: row!.state,
          attempts: stage.attempts.length,
          effects: stage.effects.length,
          fence: row!.fence,
        }).toEqual(wanted);
        expect(new Set(stage.attempts).size).toBeLessThanOrEqual(1);
        const messages = await stage.messages();
        expect(notice(messages, question!.id)!.data.state).toBe(wanted.state);
        expect(toolPart(messages).state).toBe(wanted.state === "succeeded" ? "output-available" : "output-error");
        expect(messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
        const { open } = await expectSound(stage);
        expect(open).toEqual([]);
        expect(JSON.stringify(messages).split("process_payment gave")).toHaveLength(2);
        if (wanted.state === "indeterminate") {
          expect(toolPart(messages).errorText).toContain("nobody can know");
          expect(modelInput(stage)).toContain("nobody can know");
          expect(await stage.decide(question!.id, true)).toMatchObject({ approval: { state: "indeterminate" } });
          await stage.crash();
          await stage.sweep();
          await stage.untilIdle();
          expect(stage.attempts).toHaveLength(wanted.attempts);
        } else if (effect !== "readonly") await expectTruth(stage);
        await stage.close();
      });

  it("does not keep the next process from starting while a slow tool runs again", async () => {
    const stage = await openStage({ gemini, effect: "idempotent" });
    await stage.say("pay");
    const [question] = await stage.pending();
    stage.dieAt(points["between the claim and the tool"]!);
    await stage.answer([{ id: question!.id, approved: true }]).catch(() => undefined);
    const slow = gate();
    stage.setPace(slow.opened);
    await stage.crash();
    expect(await stage.rows()).toMatchObject([{ state: "executing", fence: 2 }]);
    slow.open();
    await stage.untilIdle();
    await expectTruth(stage);
    await expectSound(stage);
    expect(JSON.stringify(await stage.messages())).toContain("process_payment gave");
    await stage.close();
  });

  it("does not happen in a normal shutdown: the process waits for the tool, and the next one continues", async () => {
    const stage = await openStage({ gemini });
    await stage.say("pay");
    const [question] = await stage.pending();
    const slow = gate();
    stage.setPace(slow.opened);
    await stage.decide(question!.id, true);
    const restarted = stage.restart();
    for (let tick = 0; tick < 50; tick += 1) await new Promise((resolve) => setImmediate(resolve));
    slow.open();
    await restarted;
    await stage.untilIdle();
    expect((await stage.rows()).map(({ state }) => state)).toEqual(["succeeded"]);
    expect(stage.effects).toHaveLength(1);
    expect(JSON.stringify(await stage.messages())).toContain("process_payment gave");
    await expectSound(stage);
    await stage.close();
  });
});

describe("a crash after the last word of a reply", () => {
  const shows = (type: string) => (moment: Moment) =>
    moment.when === "after" &&
    moment.operation === "append" &&
    (moment.args[1] as { chunk?: { type: string } }[]).some(({ chunk }) => chunk?.type === type);

  it("leaves nothing to do: the reply ends as it was", async () => {
    const world = await openWorld();
    const question = asked(await say(world, "pay"));
    world.dieAt(shows("finish"));
    await answer(world, [{ ...question, approved: true }]).catch(() => undefined);
    await world.crash();
    await quiet(world);
    const { log } = await expectSound(world);
    expect(log.filter(({ kind }) => kind === "begin")).toHaveLength(2);
    expect(log.at(-1)!.kind).toBe("end");
    expect(world.gemini.requests).toHaveLength(2);
  });

  it("does not undo a stop", async () => {
    const middle = gate();
    const world = await openWorld({
      rules: [
        { when: ({ responses }) => responses.length > 0, say: [text("Once "), pause(middle.opened)] },
        ...stageRules,
      ],
    });
    const question = asked(await say(world, "pay"));
    const running = answer(world, [{ ...question, approved: true }]).catch(() => undefined);
    await world.gemini.waitForRequest(2);
    world.dieAt(shows("abort"));
    await post(world, "/stream/chat-1/stop", {}).catch(() => undefined);
    await running;
    await world.crash();
    await quiet(world);
    expect(world.gemini.requests).toHaveLength(2);
    expect(await ledger(world)).toMatchObject([{ state: "succeeded" }]);
    await expectSound(world);
    middle.open();
  });
});

describe("a server that shuts down", () => {
  it("does not leave a reader waiting", async () => {
    const middle = gate();
    const world = await openWorld({ rules: [{ say: [text("Once upon a time "), pause(middle.opened)] }] });
    const reply = await world.bridge.submit("local", "chat-1", { type: "message", message: userMessage("a story") });
    if (!("turn" in reply)) throw new Error("A message is answered by a turn.");
    const read = async () => {
      let said = "";
      for await (const batch of world.bridge.read(reply))
        for (const { chunk } of batch) {
          said += chunk.type === "text-delta" ? chunk.delta : "";
          if (said === "Once upon a time ") void world.bridge.close();
        }
    };
    await expect(read()).rejects.toThrow("The server stopped in the middle of this reply.");
    middle.open();
  });

  it("continues an unfinished reply after the restart, without repeating a word", async () => {
    const middle = gate();
    let spoken = 0;
    const rules: Rule[] = [
      {
        when: ({ responses }) => responses.length > 0,
        say: () => {
          spoken += 1;
          return spoken === 1 ? [text("The payment went "), pause(middle.opened)] : [text("The payment went well.")];
        },
      },
      ...payRules.slice(1),
    ];
    const world = await openWorld({ rules });
    const question = asked(await say(world, "pay"));
    const cut = answer(world, [{ ...question, approved: true }]).catch(() => "cut");
    await world.gemini.waitForRequest(2);
    await world.restart();
    expect(await cut).toBe("cut");
    await quiet(world);
    const words = (await messagesOf(world)).at(-1)!.parts.flatMap((part) => (part.type === "text" ? part.text : []));
    expect(words).toEqual(["The payment went well."]);
    expect(world.payments).toHaveLength(1);
    await expectSound(world);
    middle.open();
  });

  it("makes a reply to plain text again after the restart, without repeating a word", async () => {
    const middle = gate();
    let spoken = 0;
    const say1 = () => {
      spoken += 1;
      return spoken === 1 ? [text("Once upon a "), pause(middle.opened)] : [text("Once upon a time.")];
    };
    const world = await openWorld({ rules: [{ say: say1 }] });
    const cut = say(world, "a story").catch(() => undefined);
    await world.gemini.waitForRequest(1);
    await world.restart();
    await cut;
    await quiet(world);
    const messages = await messagesOf(world);
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
    expect(messages.at(-1)!.parts.flatMap((part) => (part.type === "text" ? part.text : []))).toEqual([
      "Once upon a time.",
    ]);
    expect(messages.at(-1)!.metadata).not.toHaveProperty("error");
    await expectSound(world);
    middle.open();
  });

  it("does not make a reply again that was cut off too often, or too long ago", async () => {
    const middle = gate();
    const world = await openWorld({ rules: [{ say: [text("Once upon a time "), pause(middle.opened)] }] });
    const cut = say(world, "a story").catch(() => undefined);
    for (const request of [1, 2, 3]) {
      await world.gemini.waitForRequest(request);
      await world.restart();
    }
    await cut;
    await quiet(world);
    expect((await messagesOf(world)).at(-1)!.metadata).toMatchObject({
      error: expect.stringContaining("The server stopped in the middle of this reply.") as string,
    });
    expect(world.gemini.requests).toHaveLength(3);

    const other = say(world, "another story").catch(() => undefined);
    await world.gemini.waitForRequest(4);
    await expect.poll(async () => JSON.stringify(await lastEntry(world))).toContain("time ");
    world.clock.now += 6 * 60_000;
    await world.restart();
    await other;
    expect((await messagesOf(world)).at(-1)!.metadata).toMatchObject({
      error: expect.stringContaining("send your message again") as string,
    });
    expect(world.gemini.requests).toHaveLength(4);
    middle.open();
  });
});

describe("two questions of one step", () => {
  it("run each when it is answered; the model is told both outcomes at once", async () => {
    const world = await openWorld();
    const question = await say(world, "two payments");
    const first = await answer(world, [{ ...asked(question, 1), approved: true }]);
    expect(world.payments).toEqual([{ amount: 40, recipient: "Bob" }]);
    expect(sequence(first)).toBe("start toa finish [DONE]");
    expect(world.gemini.requests).toHaveLength(1);
    expect((await ledger(world)).map(({ state }) => state)).toEqual(["pending", "succeeded"]);
    await world.restart();
    await quiet(world);
    expect(world.gemini.requests).toHaveLength(1);

    const second = await answer(world, [{ ...asked(question, 0), approved: false }]);
    expect(sequence(second)).toBe("start tod ss text fs finish [DONE]");
    expect(world.payments).toHaveLength(1);
    expect(world.gemini.requests).toHaveLength(2);
    const responses = world.gemini.requests[1]!.responses.map(({ response }) => response);
    expect(responses).toMatchObject([{ status: "denied" }, { paid: 40 }]);
    await expectSound(world);
  });
});

describe("new text", () => {
  it("cancels an open question visibly, and the late yes is refused", async () => {
    const world = await openWorld({ rules: stageRules });
    const question = asked(await say(world, "pay"));
    const reply = await say(world, "hello");
    expect(states(reply, question.approvalId)).toEqual(["cancelled"]);
    expect(textOf(reply)).toBe("Hello there, friend.");
    expect(modelInput(world)).toContain("cancelled before it was approved");
    const messages = await messagesOf(world);
    expect(toolPart(messages)).toMatchObject({
      state: "output-denied",
      approval: { approved: false, reason: expect.stringContaining("cancelled") as string },
    });
    expect(notice(messages, question.approvalId)!.data.state).toBe("cancelled");
    expect(await decide(world, question.approvalId, true)).toMatchObject({ status: 409, body: { state: "cancelled" } });
    const late = await answer(world, [{ ...question, approved: true }]);
    expect(sequence(late)).toBe("start toe ss fs finish [DONE]");
    expect(states(late)).toEqual(["cancelled"]);
    expect(world.payments).toEqual([]);
    const { open } = await expectSound(world);
    expect(open).toEqual([]);
  });

  it("does not wait for a running tool: the model is told first that it still runs, then the outcome once", async () => {
    const { world, finish, started } = await openSlowWorld({ rules: stageRules, bridge: { graceMs: 20 } });
    const question = asked(await say(world, "pay"));
    const running = answer(world, [{ ...question, approved: true }]);
    await started;
    const reply = await say(world, "hello");
    expect(textOf(reply)).toBe("Hello there, friend.");
    expect(modelInput(world)).toContain("its outcome is not known yet");
    expect(sequence(await running)).toContain("abort");
    finish();
    await quiet(world);
    expect(toolPart(await messagesOf(world))).toMatchObject({ state: "output-available", output: { paid: 50 } });
    expect(world.gemini.requests).toHaveLength(2);

    await say(world, "hello again");
    await say(world, "and again");
    const sentToModel = modelInput(world);
    expect(sentToModel.split("ended as succeeded")).toHaveLength(2);
    expect(world.payments).toHaveLength(1);
    await expectSound(world);
  });

  it("waits a moment for a tool that is nearly done, and then gives the model the outcome as the response", async () => {
    const { world, finish, started } = await openSlowWorld({ rules: stageRules, bridge: { graceMs: 5000 } });
    const question = asked(await say(world, "pay"));
    const running = answer(world, [{ ...question, approved: true }]);
    await started;
    const reply = say(world, "hello");
    expect(sequence(await running)).toContain("abort");
    for (let tick = 0; tick < 20; tick += 1) await new Promise((resolve) => setImmediate(resolve));
    finish();
    expect(textOf(await reply)).toBe("Hello there, friend.");
    expect(
      world.gemini.requests
        .at(-1)!
        .contents.flatMap(({ parts = [] }) => parts.flatMap((part) => part.functionResponse?.response ?? [])),
    ).toEqual([{ paid: 50 }]);
    await quiet(world);
    expect(world.payments).toHaveLength(1);
    await expectSound(world);
  });

  it("does not let the calls of the abandoned step ask in the new reply", async () => {
    const slow = gate();
    const started = gate();
    const free = new FunctionTool({
      name: "get_weather",
      description: "The weather, slowly.",
      parameters: z.object({ location: z.string() }),
      execute: async () => {
        started.open();
        await slow.opened;
        return { temperature: 21 };
      },
    });
    const payments: World["payments"] = [];
    const thinking = gate();
    const rules: Rule[] = [
      { when: /hello/, say: [text("Hello "), pause(thinking.opened), text("again.")] },
      ...stageRules,
    ];
    const world = await openWorld({ rules, tools: [free, demoTools(payments)[0]!] });
    const abandoned = say(world, "mixed");
    await started.opened;
    const reply = say(world, "hello");
    await world.gemini.waitForRequest(2);
    slow.open();
    await abandoned;
    await new Promise((resolve) => setTimeout(resolve, 20));
    thinking.open();
    expect(sequence(await reply)).toBe("start ss text fs finish [DONE]");
    expect(await ledger(world)).toEqual([]);
    expect(payments).toEqual([]);
    await expectSound(world);
  });

  it("tells the model what an agent run as a tool had done before it was abandoned", async () => {
    const payments: World["payments"] = [];
    const rules: Rule[] = [
      { when: /hello/, say: [text("Hello.")] },
      {
        when: ({ toolNames, responses }) => toolNames.includes("process_payment") && responses.length > 0,
        say: [call("process_payment", { amount: 2, recipient: "Second" })],
      },
      {
        when: ({ toolNames }) => toolNames.includes("process_payment"),
        say: [call("process_payment", { amount: 1, recipient: "First" })],
      },
      { say: [call("clerk", { request: "pay both" })] },
    ];
    const world = await openWorld({
      rules,
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
    const question = asked(await say(world, "pay both"));
    await answer(world, [{ ...question, approved: true }]);
    expect(payments).toEqual([{ amount: 1, recipient: "First" }]);
    const reply = await say(world, "hello");
    expect(textOf(reply)).toBe("Hello.");
    const [response] = world.gemini.requests
      .at(-1)!
      .contents.flatMap(({ parts = [] }) => parts.flatMap((part) => part.functionResponse?.response ?? []));
    expect(response).toMatchObject({
      status: "cancelled",
      calls: [
        { name: "process_payment", args: { amount: 1, recipient: "First" }, state: "succeeded", response: { paid: 1 } },
      ],
    });
    expect((await ledger(world)).map(({ state }) => state)).toEqual(["succeeded", "cancelled"]);
    expect(payments).toHaveLength(1);
    await expectSound(world);
  });
});

describe("a stop", () => {
  it("keeps the outcome of a running tool, and the model is told with the next text", async () => {
    const { world, finish, started } = await openSlowWorld({ rules: stageRules, bridge: { graceMs: 20 } });
    const question = asked(await say(world, "pay"));
    const running = answer(world, [{ ...question, approved: true }]);
    await started;
    expect(await (await post(world, "/stream/chat-1/stop", {})).json()).toEqual({ stopped: true });
    expect(sequence(await running)).toContain("abort");
    expect(await ledger(world)).toMatchObject([{ state: "executing" }]);
    finish();
    await quiet(world);
    expect(toolPart(await messagesOf(world))).toMatchObject({ state: "output-available", output: { paid: 50 } });
    expect(world.gemini.requests).toHaveLength(1);
    await world.restart();
    await quiet(world);
    expect(world.gemini.requests, "a stop holds over a restart").toHaveLength(1);

    expect(textOf(await say(world, "hello"))).toBe("Hello there, friend.");
    expect(modelInput(world)).toContain('{"paid":50}');
    expect(world.payments).toHaveLength(1);
    const { open } = await expectSound(world);
    expect(open).toEqual([]);
  });

  it("ends an agent run as a tool permanently", async () => {
    const middle = gate();
    const rules: Rule[] = [
      { when: /hello/, say: [text("Hello.")] },
      {
        when: ({ toolNames }) => toolNames.includes("process_payment"),
        say: [text("Let me "), pause(middle.opened), call("process_payment", { amount: 1, recipient: "First" })],
      },
      { say: [call("clerk", { request: "pay" })] },
    ];
    const world = await openWorld({
      rules,
      bridge: { tools: { clerk: { confirm: true } } },
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
    const question = asked(await say(world, "pay"));
    const running = answer(world, [{ ...question, approved: true, toolName: "clerk" }]);
    await world.gemini.waitForRequest(2);
    await post(world, "/stream/chat-1/stop", {});
    expect(sequence(await running)).toContain("abort");
    expect(await ledger(world)).toMatchObject([{ state: "cancelled" }]);
    middle.open();
    await world.restart();
    await quiet(world);
    expect(world.gemini.requests).toHaveLength(2);
    expect(textOf(await say(world, "hello"))).toBe("Hello.");
    expect(modelInput(world)).toContain("cancelled before its result came");
    const { open } = await expectSound(world);
    expect(open).toEqual([]);
  });

  it("keeps a question open that was asked before the stop", async () => {
    const world = await openWorld();
    const question = asked(await say(world, "pay"));
    expect(await (await post(world, "/stream/chat-1/stop", {})).json()).toEqual({ stopped: false });
    await answer(world, [{ ...question, approved: true }]);
    expect(world.payments).toHaveLength(1);
    await expectSound(world);
  });
});

describe("a model that cannot be reached when the decision comes", () => {
  it("does not keep the tool from running; the reply ends with an error, and the next turn works", async () => {
    let broken = true;
    const rules: Rule[] = [
      { when: ({ responses, fresh }) => broken && responses.length > 0 && !fresh, say: [fail(503, "overloaded")] },
      ...stageRules,
    ];
    const world = await openWorld({ rules });
    const question = asked(await say(world, "pay"));
    const reply = await answer(world, [{ ...question, approved: true }]);
    expect(sequence(reply)).toBe("start toa error [DONE]");
    expect(world.payments).toHaveLength(1);
    expect(await ledger(world)).toMatchObject([{ state: "succeeded" }]);
    broken = false;
    const requests = world.gemini.requests.length;
    await world.restart();
    await quiet(world);
    expect(world.gemini.requests).toHaveLength(requests);
    expect(textOf(await say(world, "hello"))).toBe("Hello there, friend.");
    expect(modelInput(world)).toContain('"paid":50');
    expect(world.payments).toHaveLength(1);
    const { open } = await expectSound(world);
    expect(open).toEqual([]);
  });

  it("does not keep the tool from running even if no server is at its address", async () => {
    const world = await openWorld({ rules: stageRules });
    const question = asked(await say(world, "pay"));
    const { port } = new URL(world.gemini.url);
    await world.gemini.close();
    const reply = await answer(world, [{ ...question, approved: true }]);
    expect(sequence(reply)).toBe("start toa error [DONE]");
    expect(world.payments).toHaveLength(1);
    world.gemini = await startScriptedGemini({ rules: stageRules, port: Number(port) });
    expect(textOf(await say(world, "hello"))).toBe("Hello there, friend.");
    expect(modelInput(world)).toContain('"paid":50');
    const { open } = await expectSound(world);
    expect(open).toEqual([]);
  });
});

describe("regenerating a reply", () => {
  it("keeps a call that runs in the reply, and one that has run", async () => {
    const { world, finish, started } = await openSlowWorld({ rules: stageRules, bridge: { graceMs: 20 } });
    const question = asked(await say(world, "pay"));
    const running = answer(world, [{ ...question, approved: true }]);
    await started;
    const again = () =>
      post(world, "/stream", { id: "chat-1", messages: [userMessage("pay")], trigger: "regenerate-message" });
    expect(sequence(await receive(await again()))).toBe("start ss tis tia fs finish [DONE]");
    finish();
    await running;
    await quiet(world);
    expect(sequence(await receive(await again()))).toBe("start ss tis tia toa fs ss text fs finish [DONE]");
    expect(toolPart(await messagesOf(world))).toMatchObject({ state: "output-available" });
    expect(world.payments).toHaveLength(1);
    await expectSound(world);
  });

  it("tells the model that an ungated tool was interrupted, and does not run it again", async () => {
    let runs = 0;
    const slow = gate();
    const started = gate();
    const free = new FunctionTool({
      name: "get_weather",
      description: "The weather, slowly.",
      parameters: z.object({ location: z.string() }),
      execute: async () => {
        runs += 1;
        started.open();
        await slow.opened;
        return { temperature: 21 };
      },
    });
    const world = await openWorld({ rules: stageRules, tools: [free] });
    const stopped = say(world, "weather");
    await started.opened;
    const again = await post(world, "/stream", {
      id: "chat-1",
      messages: [userMessage("weather")],
      trigger: "regenerate-message",
    });
    expect(sequence(await receive(again))).toBe("start ss tis tia toe fs ss text fs finish [DONE]");
    expect(JSON.stringify(world.gemini.requests.at(-1)?.contents)).toContain("interrupted");
    slow.open();
    await stopped;
    expect(runs).toBe(1);
    expect(textOf(await say(world, "hello"))).toBe("Hello there, friend.");
    await expectSound(world);
  });

  it("cancels an unanswered question; a yes to it is refused, and a yes to the new one counts", async () => {
    const world = await openWorld({
      rules: [afterTools, { say: [call("process_payment", { amount: 50, recipient: "Hanako" }, { id: "call-1" })] }],
    });
    const first = asked(await say(world, "pay"));
    const again = await receive(
      await post(world, "/stream", { id: "chat-1", messages: [userMessage("pay")], trigger: "regenerate-message" }),
    );
    const second = asked(again);
    expect(second.approvalId).not.toBe(first.approvalId);
    expect(await decide(world, first.approvalId, true)).toMatchObject({ status: 409, body: { state: "cancelled" } });
    expect(world.payments).toEqual([]);
    await answer(world, [{ ...second, approved: true }]);
    expect(world.payments).toHaveLength(1);
    expect((await messagesOf(world)).map(({ role }) => role)).toEqual(["user", "assistant"]);
    await expectSound(world);
  });
});

async function lastEntry(world: World): Promise<unknown> {
  const chat = await world.store.findChat("local", "chat-1", "root_agent");
  return (await world.store.read(chat?.id ?? "")).at(-1);
}
