/**
 * What a gated tool asks ADK to do beside its result takes effect as if the tool had run in place: artifacts, transfers,
 * the end of a loop, no further model request. ADK's services are there for free and gated calls.
 */
import {
  AgentTool,
  BasePlugin,
  BaseTool,
  type Context,
  createEvent,
  createSession,
  type Event,
  EXIT_LOOP,
  FunctionTool,
  InMemoryArtifactService,
  InMemoryMemoryService,
  LlmAgent,
  LOAD_MEMORY,
  LoopAgent,
  SequentialAgent,
} from "@google/adk";
import { createBridge } from "adk-stream-protocol";
import { memoryStore } from "adk-stream-protocol/stores/memory";
import { call, type Rule, text } from "adk-stream-protocol/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { liveRules, type LiveStage, type LiveStageOptions, openLiveStage } from "../fixtures/live-stage.ts";
import { patience } from "../fixtures/nodes.ts";
import { expectSound } from "../fixtures/sound.ts";
import { recordSpans, toolSpanAttributes } from "../fixtures/spans.ts";
import { storeKinds } from "../fixtures/store-kinds.ts";
import { textOf } from "../fixtures/world.ts";

const modes = [
  { mode: "by request", live: false },
  { mode: "live", live: true },
];
const yes = async (stage: LiveStage, how: { live: boolean }) =>
  stage.answer(
    (await stage.pending()).map(({ id }) => ({ id, approved: true })),
    how,
  );
const chatId = async (stage: LiveStage) => (await stage.store.findChat("local", "chat-1", "root_agent"))?.id ?? "";
const storedEvents = async (stage: LiveStage) =>
  (await stage.store.events(await chatId(stage))).map(({ event }) => event as unknown as Event);

/** A tool that does something with its context, and counts. */
const acting = (act: (context: Context) => unknown, { gated = true, name = "act" } = {}) => {
  const ran: string[] = [];
  const tool = new FunctionTool({
    name,
    description: "Acts.",
    requireConfirmation: gated,
    parameters: z.object({}),
    execute: async (_, context) => {
      ran.push(context?.functionCallId ?? "");
      if (context) await act(context);
      return { done: true };
    },
  });
  return { tool, ran };
};
const rules: readonly Rule[] = [
  { when: ({ responses, fresh }) => !fresh && responses.length > 0, say: [text("Told.")] },
  { when: ({ system, text: said }) => system.includes("You help.") && /act/.test(said), say: [text("I help.")] },
  { when: /^act$/, say: [call("act", {})] },
  { when: ({ system }) => system.includes("You help."), say: [text("Helper here.")] },
  { say: [text("Root here.")] },
];
const withHelper =
  (tool: BaseTool): LiveStageOptions["agent"] =>
  ({ model }) =>
    new LlmAgent({
      name: "root_agent",
      model: model(),
      instruction: "You lead.",
      tools: [tool],
      subAgents: [new LlmAgent({ name: "helper", model: model(), description: "Helps.", instruction: "You help." })],
    });

describe.each(storeKinds)("a gated tool on $name", ({ options }) => {
  it.each(modes)("saves artifacts of the chat, $mode", async ({ live }) => {
    const artifactService = new InMemoryArtifactService();
    const { tool } = acting((context) => context.saveArtifact("report.txt", { text: "All is well." }));
    const stage = await openLiveStage({ ...options(), rules, tools: [tool], bridge: { artifactService } });
    await stage.say("act", { live });
    expect(textOf(await yes(stage, { live }))).toBe("Told.");
    const key = { appName: "root_agent", userId: "local", sessionId: await chatId(stage) };
    expect(await artifactService.loadArtifact({ ...key, filename: "report.txt" })).toEqual({ text: "All is well." });
    const deltas = (await storedEvents(stage)).flatMap(({ actions }) => Object.entries(actions.artifactDelta));
    expect(deltas).toEqual([["report.txt", 0]]);
    await expectSound(stage);
  });

  it.each(modes)("hands over to another agent, which replies and has the next word, $mode", async ({ live }) => {
    const { tool, ran } = acting((context) => (context.actions.transferToAgent = "helper"));
    const stage = await openLiveStage({ ...options(), rules, agent: withHelper(tool) });
    await stage.say("act", { live });
    await stage.restart();
    expect(textOf(await yes(stage, { live }))).toBe("I help.");
    expect(textOf(await stage.say("hello", { live }))).toBe("Helper here.");
    expect(ran).toHaveLength(1);
    await expectSound(stage);
  });

  it("does not let the model speak if it says so", async () => {
    const { tool, ran } = acting((context) => (context.actions.skipSummarization = true));
    const stage = await openLiveStage({ ...options(), rules, tools: [tool] });
    await stage.say("act", { live: false });
    const before = stage.gemini.requests.length;
    const reply = await yes(stage, { live: false });
    expect(textOf(reply)).toBe("");
    expect(reply.chunks.some((chunk) => chunk.type === "tool-output-available")).toBe(true);
    expect(stage.gemini.requests).toHaveLength(before);
    expect(ran).toHaveLength(1);
    expect(textOf(await stage.say("hello", { live: false }))).toBe("Root here.");
    await expectSound(stage);
  });
});

describe("actions", () => {
  it.each(modes)("of transfer_to_agent take effect after a yes, $mode", async ({ live }) => {
    const stage = await openLiveStage({
      rules: rules.with(2, { when: /^act$/, say: [call("transfer_to_agent", { agentName: "helper" })] }),
      agent: withHelper(acting(() => undefined).tool),
      bridge: { tools: { transfer_to_agent: { confirm: true } } },
    });
    await stage.say("act", { live });
    expect(await stage.pending()).toMatchObject([{ toolName: "transfer_to_agent", input: { agentName: "helper" } }]);
    expect(textOf(await yes(stage, { live }))).toBe("I help.");
    expect((await stage.rows()).map(({ state }) => state)).toEqual(["succeeded"]);
    await expectSound(stage);
  });

  it("end a loop, and the sequence around it goes on", async () => {
    const stage = await openLiveStage({
      rules: [
        { when: ({ system }) => system.includes("You close."), say: [text("Closed.")] },
        { say: [call("exit_loop", {})] },
      ],
      bridge: { tools: { exit_loop: { confirm: true } } },
      agent: ({ model }) =>
        new SequentialAgent({
          name: "team",
          subAgents: [
            new LoopAgent({
              name: "loop",
              subAgents: [new LlmAgent({ name: "worker", model: model(), instruction: "Work.", tools: [EXIT_LOOP] })],
            }),
            new LlmAgent({ name: "closer", model: model(), instruction: "You close." }),
          ],
        }),
    });
    await stage.say("go", { live: false });
    expect(await stage.pending()).toHaveLength(1);
    expect(textOf(await yes(stage, { live: false }))).toBe("Closed.");
    const escalated = (await storedEvents(stage)).filter(({ actions }) => actions.escalate);
    expect(escalated.length).toBeGreaterThan(0);
    expect(stage.gemini.requests).toHaveLength(2);
    await expectSound(stage);
  });

  it("of a free and a gated call of one step take effect together", async () => {
    const artifactService = new InMemoryArtifactService();
    const gated = acting((context) => (context.actions.transferToAgent = "helper"));
    const free = acting((context) => context.saveArtifact("free.txt", { text: "x" }), { gated: false, name: "free" });
    const stage = await openLiveStage({
      rules: [
        {
          when: ({ responses, text: said }) => responses.length === 0 && said === "act",
          say: [call("free", {}), call("act", {})],
        },
        ...rules,
      ],
      agent: ({ model }) =>
        new LlmAgent({
          name: "root_agent",
          model: model(),
          tools: [gated.tool, free.tool],
          subAgents: [new LlmAgent({ name: "helper", model: model(), instruction: "You help." })],
        }),
      bridge: { artifactService },
    });
    await stage.say("act", { live: false });
    await yes(stage, { live: false });
    expect([gated.ran, free.ran].map(({ length }) => length)).toEqual([1, 1]);
    expect(stage.gemini.requests.at(-1)?.system).toContain("You help.");
    await expectSound(stage);
  });

  it("of a free transfer wait for the gated call of the same step", async () => {
    const { tool, ran } = acting(() => undefined);
    const both = [call("transfer_to_agent", { agentName: "helper" }), call("act", {})];
    const stage = await openLiveStage({ rules: rules.with(2, { when: /^act$/, say: both }), agent: withHelper(tool) });
    await stage.say("act", { live: false });
    expect(stage.gemini.requests).toHaveLength(1);
    expect(textOf(await yes(stage, { live: false }))).toBe("I help.");
    expect(ran).toHaveLength(1);
    await expectSound(stage);
  });

  it.each(modes)("that name no agent end the turn and not the chat, $mode", async ({ live }) => {
    const { tool } = acting((context) => (context.actions.transferToAgent = "missing_agent"));
    const stage = await openLiveStage({ rules, tools: [tool] });
    await stage.say("act", { live });
    const reply = await yes(stage, { live });
    if (!live) expect(JSON.stringify(reply.chunks)).toContain("There is no agent named missing_agent to go on with.");
    expect(textOf(await stage.say("hello", { live }))).toBe("Root here.");
    await expectSound(stage);
  });

  it(
    "survive a crash at any moment: the tool runs once, and the other agent replies",
    async () => {
      for (let moment = 0; ; moment += 1) {
        const { tool, ran } = acting((context) => (context.actions.transferToAgent = "helper"));
        const stage = await openLiveStage({
          rules,
          agent: withHelper(tool),
          bridge: { tools: { act: { effect: "idempotent" } } },
        });
        await stage.say("act", { live: false });
        let seen = 0;
        stage.dieAt(() => seen++ === moment);
        await yes(stage, { live: false }).catch(() => undefined);
        const died = seen > moment;
        if (died) {
          await stage.crash();
          stage.clock.now += 20_000;
          await stage.bridge.sweep();
          await stage.untilIdle();
        }
        const [row] = await stage.rows();
        expect(row?.state === "succeeded" || row?.state === "pending", `${moment}: ${row?.state}`).toBe(true);
        if (row?.state === "succeeded") {
          const helped = (await storedEvents(stage)).some(({ author, content }) => author === "helper" && content);
          expect(helped, `after moment ${moment}`).toBe(true);
          expect(new Set(ran).size).toBe(1);
        }
        await stage.close();
        if (!died) break;
      }
    },
    60_000 * patience,
  );
});

describe.each(modes)("ADK's services, $mode", ({ live }) => {
  it("are there for a free call and for an agent that is run as a tool", async () => {
    const artifactService = new InMemoryArtifactService();
    const save = (name: string, gated: boolean) =>
      acting((context) => context.saveArtifact(`${name}.txt`, { text: name }), { name, gated }).tool;
    const stage = await openLiveStage({
      rules: [
        { when: ({ responses, fresh }) => !fresh && responses.length > 0, say: [text("Told.")] },
        { when: ({ toolNames }) => toolNames.includes("inner"), say: [call("inner", {}), call("inner_gated", {})] },
        { say: [call("outer", {}), call("clerk", { request: "save" })] },
      ],
      agent: ({ model }) => {
        const tools = [save("inner", false), save("inner_gated", true)];
        const clerk = new LlmAgent({ name: "clerk", model: model(), description: "Saves.", tools });
        return new LlmAgent({
          name: "root_agent",
          model: model(),
          tools: [save("outer", false), new AgentTool({ agent: clerk })],
        });
      },
      bridge: { artifactService },
    });
    await stage.say("save", { live });
    await yes(stage, { live });
    const key = { appName: "root_agent", userId: "local", sessionId: await chatId(stage) };
    expect((await artifactService.listArtifactKeys(key)).toSorted()).toEqual([
      "inner.txt",
      "inner_gated.txt",
      "outer.txt",
    ]);
    await expectSound(stage);
  });

  it.each([true, false])("find memories for a call, gated: %s", async (confirm) => {
    const memoryService = new InMemoryMemoryService();
    const said = createEvent({ author: "user", content: { role: "user", parts: [{ text: "My cat is Momo." }] } });
    await memoryService.addSessionToMemory(
      createSession({ id: "old", appName: "root_agent", userId: "local", events: [said] }),
    );
    const stage = await openLiveStage({
      tools: [LOAD_MEMORY],
      rules: [
        {
          when: ({ responses, fresh }) => !fresh && responses.length > 0,
          say: ({ responses }) => [text(JSON.stringify(responses[0]?.response))],
        },
        { say: [call("load_memory", { query: "cat" })] },
      ],
      bridge: { memoryService, ...(confirm && { tools: { load_memory: { confirm: true } } }) },
    });
    const first = await stage.say("remember", { live });
    const reply = confirm ? await yes(stage, { live }) : first;
    expect(textOf(reply)).toContain("My cat is Momo.");
    await expectSound(stage);
  });
});

it.each(modes)("a gated call has a span like a free one, $mode", async ({ live }) => {
  const { tool } = acting(() => undefined);
  const stage = await openLiveStage({ rules, tools: [tool] });
  await stage.say("act", { live });
  const spans = await recordSpans(() => yes(stage, { live }));
  const [span, ...others] = spans.filter(({ name }) => name.startsWith("execute_tool"));
  expect(span?.name).toBe("execute_tool act");
  expect(Object.keys(span?.attributes ?? {}).toSorted()).toEqual(toolSpanAttributes);
  expect(others).toEqual([]);
});

it.each([
  ["artifactService", "saveArtifact"],
  ["memoryService", "searchMemory"],
  ["credentialService", "loadCredential"],
])("an option %s that is no service is refused with a sentence", async (name, method) => {
  const agent = new LlmAgent({ name: "root_agent", model: "gemini-2.5-flash" });
  await expect(createBridge({ agent, store: memoryStore(), [name]: {} })).rejects.toThrow(
    `The option ${name} must be a service of ADK, with a method ${method}.`,
  );
});

describe.each(modes)("a tool that is added to each request, $mode", ({ live }) => {
  /** Brings a tool that is not in the agent's list. */
  class Bringer extends BaseTool {
    readonly #brought: BaseTool;
    constructor(brought: BaseTool) {
      super({ name: "bringer", description: "" });
      this.#brought = brought;
    }
    override async processLlmRequest(request: Parameters<BaseTool["processLlmRequest"]>[0]) {
      await this.#brought.processLlmRequest(request);
    }
    override async runAsync(): Promise<unknown> {
      return undefined;
    }
  }

  it("runs after a yes, also in another process", async () => {
    const { tool, ran } = acting(() => undefined);
    // A live model that has lost its connection is told in a note, which it repeats.
    const stage = await openLiveStage({ rules: [...liveRules.slice(0, 1), ...rules], tools: [new Bringer(tool)] });
    await stage.say("act", { live });
    await stage.restart();
    expect(textOf(await yes(stage, { live }))).toBe(live ? 'Noted: succeeded: {"done":true}' : "Told.");
    expect(ran).toHaveLength(1);
    await expectSound(stage);
  });
});

it("a tool that a callback adds to one request is refused, and no one is asked", async () => {
  const { tool, ran } = acting(() => undefined);
  class Adds extends BasePlugin {
    override async beforeModelCallback({
      llmRequest,
      callbackContext,
    }: Parameters<BasePlugin["beforeModelCallback"]>[0]) {
      await tool.processLlmRequest({ llmRequest, toolContext: callbackContext });
      return undefined;
    }
  }
  const stage = await openLiveStage({ rules, bridge: { plugins: [new Adds("adds")] } });
  const reply = await stage.say("act", { live: false });
  expect(await stage.pending()).toEqual([]);
  expect(JSON.stringify(reply.chunks)).toContain("A callback added the tool act, so its call cannot wait.");
  expect(ran).toEqual([]);
  await expectSound(stage);
});
