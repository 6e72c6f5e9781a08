/** A deploy with a changed agent: a question waits, another version of the agent starts on the same store. */
import {
  AgentTool,
  type BaseAgent,
  BaseTool,
  FunctionTool,
  type Gemini,
  LlmAgent,
  type LlmAgentConfig,
} from "@google/adk";
import { type BridgeOptions, clientTool } from "adk-stream-protocol";
import { call, type Rule, text } from "adk-stream-protocol/testing";
import { isSettled } from "adk-stream-protocol/protocol";
import { isToolUIPart } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { openLiveStage } from "../fixtures/live-stage.ts";
import { expectSound } from "../fixtures/sound.ts";
import { storeKinds } from "../fixtures/store-kinds.ts";

type Tools = NonNullable<LlmAgentConfig["tools"]>;
interface Version {
  name?: string;
  tools: (ran: unknown[]) => Tools;
  policies?: BridgeOptions["tools"];
  bridge?: Partial<BridgeOptions>;
}

const act = (ran: unknown[], options: Partial<ConstructorParameters<typeof FunctionTool>[0]> = {}) =>
  new FunctionTool({
    name: "act",
    description: "Acts.",
    parameters: z.object({ n: z.number() }),
    requireConfirmation: true,
    execute: (args) => {
      ran.push(args);
      return { done: true };
    },
    ...options,
  });
const first: Version = { tools: (ran) => [act(ran), other] };
const other = new FunctionTool({ name: "other", description: "Other.", parameters: z.object({}), execute: () => ({}) });

const rules: Rule[] = [
  {
    when: ({ responses, fresh }) => !fresh && responses.length > 0,
    say: ({ responses }) => [text(`It gave ${responses.map(({ response }) => JSON.stringify(response)).join(" ")}.`)],
  },
  {
    when: ({ contents }) => contents.at(-1)?.parts?.[0]?.text?.startsWith("[context") ?? false,
    say: ({ contents }) => [text(`Noted: ${contents.at(-1)?.parts?.[0]?.text ?? ""}`)],
  },
  {
    when: ({ toolNames, text: said }) => toolNames.includes("clerk") && /^go$/.test(said),
    say: [call("clerk", { request: "go" })],
  },
  { when: /^go$/, say: [call("act", { n: 1 })] },
  { say: [text("Hello.")] },
];

/** The model of the stage that was opened last, for agents that are run as tools. */
let stageModel: () => Gemini;

/** A stage on which the first version runs, and `deploy` starts another one. */
async function openDeploy(version: Version, kind: (typeof storeKinds)[number]) {
  const ran: unknown[] = [];
  let current = version;
  const bridge: Partial<BridgeOptions> = { appName: "root_agent", ...version.bridge };
  const setPolicies = () => {
    delete bridge.tools;
    if (current.policies) bridge.tools = current.policies;
  };
  setPolicies();
  const stage = await openLiveStage({
    ...kind.options(),
    rules,
    agent: ({ model }): BaseAgent => {
      stageModel = model;
      return new LlmAgent({
        ...{ name: current.name ?? "root_agent", model: model(), instruction: "Help." },
        tools: current.tools(ran),
      });
    },
    bridge,
  });
  const deploy = async (next: Version, how: "restart" | "crash" = "restart") => {
    current = next;
    setPolicies();
    await stage[how]();
  };
  return { stage, ran, deploy };
}

type Stage = Awaited<ReturnType<typeof openDeploy>>["stage"];

const cardState = async (stage: Stage) =>
  (await stage.messages()).flatMap(({ parts }) => parts.filter(isToolUIPart).map(({ state }) => state)).at(-1);

/** What the model knows of the outcomes, in whichever form it was told. */
const toldTo = ({ gemini, responses, textToModel }: Stage) =>
  [JSON.stringify(gemini.requests.at(-1)?.contents ?? []), JSON.stringify(responses()), ...textToModel()].join("\n");

const changes: { what: string; next: Version; runs: boolean; says?: string }[] = [
  { what: "nothing", next: first, runs: true },
  {
    what: "the code of the tool",
    next: { tools: (ran) => [other, act(ran, { execute: () => (ran.push("new code"), { done: true }) })] },
    runs: true,
  },
  { what: "the tool is gone", next: { tools: () => [other] }, runs: false, says: "no longer has a tool named act" },
  { what: "no tools are left", next: { tools: () => [] }, runs: false, says: "no longer has a tool named act" },
  {
    what: "the description of the tool",
    next: { tools: (ran) => [act(ran, { description: "Acts at once." })] },
    runs: false,
    says: "The tool act has changed",
  },
  {
    what: "the schema of the tool",
    next: { tools: (ran) => [act(ran, { parameters: z.object({ n: z.number(), m: z.number().default(9) }) })] },
    runs: false,
    says: "The tool act has changed",
  },
  {
    what: "the name of the agent",
    next: { ...first, name: "new_agent" },
    runs: false,
    says: "The agent root_agent that made this call is gone",
  },
  {
    what: "the tool needs no approval any more",
    next: { tools: (ran) => [act(ran, { requireConfirmation: false })] },
    runs: true,
  },
  {
    what: "the policy of the tool",
    next: {
      ...first,
      policies: { act: { confirm: true, effect: "idempotent", expiresMs: 1, startMs: 1, title: "New" } },
    },
    runs: true,
  },
  {
    what: "the tool runs in the browser",
    next: { tools: () => [clientTool({ name: "act", description: "Acts.", parameters: z.object({ n: z.number() }) })] },
    runs: false,
    says: "The tool act has changed",
  },
  {
    what: "the tool is long-running",
    next: { tools: (ran) => [new LaterTool(ran)] },
    runs: false,
    says: "The tool act has changed",
  },
  {
    what: "the tool is an agent",
    next: { tools: () => [new AgentTool({ agent: new LlmAgent({ name: "act", model: "m", description: "Acts." }) })] },
    runs: false,
    says: "An agent",
  },
];

/** Looks as the first version's tool does, and says that its result comes later. */
class LaterTool extends BaseTool {
  readonly #inner: FunctionTool;
  constructor(ran: unknown[]) {
    super({ name: "act", description: "Acts.", isLongRunning: true });
    this.#inner = act(ran);
  }
  override _getDeclaration() {
    return this.#inner._getDeclaration();
  }
  override runAsync(request: Parameters<BaseTool["runAsync"]>[0]) {
    return this.#inner.runAsync(request);
  }
}

const few = changes.filter(({ what }) => /gone|schema|name of the agent/.test(what));
const settings = storeKinds.flatMap((kind) =>
  // What differs between the stores is tested elsewhere.
  [false, true].map((live) => ({ kind, live, store: kind.name, tried: kind.name === "memory" ? changes : few })),
);
const greeted = async (stage: Stage, live: boolean) => {
  expect(JSON.stringify((await stage.say("hello", { live })).chunks)).toContain("Hello.");
  await stage.untilIdle();
  await expectSound(stage);
  expect(stage.loggedErrors).toEqual([]);
};

describe.each(settings)("a deploy with a changed agent (live: $live, store: $store)", ({ kind, live, tried }) => {
  it.each(tried)(
    "$what: the question stays, and a yes runs what was shown or nothing",
    async ({ next, runs, says }) => {
      const { stage, ran, deploy } = await openDeploy(first, kind);
      await stage.say("go", { live });
      const [before] = await stage.rows();
      await deploy(next);
      expect(await stage.rows()).toEqual([before]);
      expect((await stage.pending()).map(({ id, state }) => [id, state])).toEqual([[before?.id, "pending"]]);
      expect(await cardState(stage)).toBe("approval-requested");
      await stage.answer([{ id: before?.id ?? "", approved: true }], { live });
      await stage.untilIdle();
      expect(ran).toHaveLength(runs ? 1 : 0);
      expect(await stage.rows()).toMatchObject([{ state: runs ? "succeeded" : "failed", effect: "opaque" }]);
      const told = runs ? "done" : (says ?? "");
      expect(JSON.stringify(await stage.rows())).toContain(told);
      expect(toldTo(stage)).toContain(told);
      expect(await cardState(stage)).toBe(runs ? "output-available" : "output-error");
      await greeted(stage, live);
      expect(await stage.store.dueApprovals()).toEqual([]);
    },
  );
});

describe.each(settings.slice(0, 2))("a deploy while something waits (live: $live)", ({ kind, live }) => {
  it.each(few)("$what: a no is a no", async ({ next }) => {
    const { stage, ran, deploy } = await openDeploy(first, kind);
    await stage.say("go", { live });
    await deploy(next);
    await stage.answer([{ id: (await stage.pending())[0]?.id ?? "", approved: false }], { live });
    await stage.untilIdle();
    expect(await stage.rows()).toMatchObject([{ state: "denied", told: true }]);
    await greeted(stage, live);
    expect(ran).toEqual([]);
  });

  it.each(few)("$what: text is answered, and the question ends as it would have", async ({ next }) => {
    const { stage, ran, deploy } = await openDeploy(first, kind);
    await stage.say("go", { live });
    await deploy(next, "crash");
    await greeted(stage, live);
    stage.clock.now += 1_000_000;
    await stage.sweep();
    await stage.untilIdle();
    expect(await stage.rows()).toMatchObject([{ state: live ? "expired" : "cancelled" }]);
    expect(ran).toEqual([]);
  });

  it.each([{ gate: "the tool" }, { gate: "a policy" }])(
    "a call that no one was asked about does not run after $gate has become gated",
    async ({ gate }) => {
      const limited = { act: { timeoutMs: 60_000 } };
      const free = (ran: unknown[]) => [act(ran, { requireConfirmation: false })];
      const { stage, ran, deploy } = await openDeploy({ tools: free, policies: limited }, kind);
      stage.dieAt(({ when, operation }) => when === "before" && operation === "move");
      await expect(stage.say("go", { live })).rejects.toThrow("died");
      expect(await stage.rows()).toMatchObject([{ state: "approved", gated: false }]);
      const gated: Version = { tools: free, policies: { act: { ...limited.act, confirm: true } } };
      await deploy(gate === "a policy" ? gated : { ...first, policies: limited }, "crash");
      await stage.untilIdle();
      expect(ran).toEqual([]);
      expect(await stage.rows()).toMatchObject([
        { state: "failed", outcome: { error: expect.stringContaining("needs an approval now") } },
      ]);
      await greeted(stage, live);
    },
  );

  it("a call that no one was asked about runs after a deploy that gates other calls", async () => {
    const limited = { act: { timeoutMs: 60_000 } };
    const free = (ran: unknown[]) => [act(ran, { requireConfirmation: false })];
    const { stage, ran, deploy } = await openDeploy({ tools: free, policies: limited }, kind);
    stage.dieAt(({ when, operation }) => when === "before" && operation === "move");
    await expect(stage.say("go", { live })).rejects.toThrow("died");
    await deploy({ tools: free, policies: { act: { ...limited.act, confirm: ({ n }) => n === 2 } } }, "crash");
    await stage.untilIdle();
    expect(ran).toEqual([{ n: 1 }]);
  });

  const clerk = (ran: unknown[], options: { tools?: Tools; description?: string } = {}) =>
    new AgentTool({
      agent: new LlmAgent({
        ...{ name: "clerk", model: stageModel(), description: "Helps.", instruction: "Help.", tools: [act(ran)] },
        ...options,
      }),
    });
  const withClerk: Version = { tools: (ran) => [clerk(ran)] };

  it.each<{ what: string; next: Version; runs: boolean; ends: string }>([
    { what: "nothing", next: withClerk, runs: true, ends: "succeeded" },
    { what: "the agent is gone", next: { tools: () => [other] }, runs: false, ends: "failed" },
    { what: "its tool is gone", next: { tools: (ran) => [clerk(ran, { tools: [] })] }, runs: false, ends: "succeeded" },
    {
      what: "its words",
      next: { tools: (ran) => [clerk(ran, { description: "New." })] },
      runs: true,
      ends: "succeeded",
    },
  ])("an agent run as a tool, $what: its call is settled, and so is the agent", async ({ next, runs, ends }) => {
    const { stage, ran, deploy } = await openDeploy(withClerk, kind);
    await stage.say("go", { live });
    await deploy(next);
    await stage.answer([{ id: (await stage.pending())[0]?.id ?? "", approved: true }], { live });
    await stage.untilIdle();
    await stage.until(async () => (await stage.rows()).every(({ state }) => isSettled(state)));
    await stage.untilIdle();
    expect(ran).toHaveLength(runs ? 1 : 0);
    const rows = await stage.rows();
    expect(rows.map(({ toolName, state }) => [toolName, state])).toEqual([
      ["clerk", ends],
      ["act", runs ? "succeeded" : "failed"],
    ]);
    await greeted(stage, live);
    await stage.restart();
    expect(stage.loggedErrors).toEqual([]);
  });

  it("an approved call of an agent that has changed since does not run", async () => {
    const confirmed = { policies: { clerk: { confirm: true } } };
    const { stage, ran, deploy } = await openDeploy({ ...withClerk, ...confirmed }, kind);
    await stage.say("go", { live });
    await deploy({ tools: (now) => [clerk(now, { description: "New." })], ...confirmed });
    await stage.answer([{ id: (await stage.pending())[0]?.id ?? "", approved: true }], { live });
    await stage.untilIdle();
    expect(await stage.rows()).toMatchObject([
      { toolName: "clerk", state: "failed", outcome: { error: expect.stringContaining("has changed") } },
    ]);
    expect(ran).toEqual([]);
    await greeted(stage, live);
  });
});
