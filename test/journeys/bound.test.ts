/** What was shown is what runs: for every kind of call, in both modes, on both stores. The tests check what really ran. */
import type { BaseToolset } from "@google/adk";
import {
  BasePlugin,
  BaseTool,
  FunctionTool,
  LlmAgent,
  type RunAsyncToolRequest,
  type SingleBeforeToolCallback,
} from "@google/adk";
import { type FunctionDeclaration, Type } from "@google/genai";
import { type BridgeOptions, clientTool } from "adk-stream-protocol";
import { call, type Rule, text } from "adk-stream-protocol/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { expectSound } from "../fixtures/sound.ts";
import { type LiveStage, openLiveStage } from "../fixtures/live-stage.ts";
import { storeKinds } from "../fixtures/store-kinds.ts";
import type { Received, WorldOptions } from "../fixtures/world.ts";
import { ListedToolset } from "../fixtures/listed-toolset.ts";

type Args = Record<string, unknown>;

interface Story {
  args: Args | (() => Args);
  tools: (ran: unknown[]) => (BaseTool | BaseToolset)[];
  policies?: BridgeOptions["tools"];
  callback?: SingleBeforeToolCallback;
  plugins?: BasePlugin[];
  store?: Pick<WorldOptions, "store" | "reopen">;
}

/** A stage whose model calls the tool `act` with these arguments. */
async function openStory({ args, tools, policies, callback, plugins, store }: Story, live: boolean) {
  const ran: unknown[] = [];
  const rules: Rule[] = [
    { when: ({ responses, fresh }) => !fresh && responses.length > 0, say: [text("Done.")] },
    { when: /^go$/, say: () => [call("act", typeof args === "function" ? args() : args)] },
    { say: [text("Hello.")] },
  ];
  const stage = await openLiveStage({
    ...store,
    rules,
    agent: ({ model }) =>
      new LlmAgent({
        name: "root_agent",
        model: model(),
        instruction: "Help.",
        tools: tools(ran),
        ...(callback && { beforeToolCallback: callback }),
      }),
    bridge: { ...(policies && { tools: policies }), ...(plugins && { plugins }) },
  });
  return {
    stage,
    ran,
    go: () => stage.say("go", { live }),
    yes: async () => {
      const open = await stage.pending();
      return stage.answer(
        open.map(({ id }) => ({ id, approved: true })),
        { live },
      );
    },
    /** What the history of the model says about the calls. */
    told: async () => JSON.stringify(await stage.store.events((await stage.rows())[0]?.chat ?? (await chatId(stage)))),
  };
}

const chatId = async (stage: LiveStage) => (await stage.store.findChat("local", "chat-1", "root_agent"))?.id ?? "";

/** The inputs of a reply, in the order in which readers saw them. */
const inputs = ({ chunks }: Received) =>
  chunks.flatMap((chunk) => (chunk.type === "tool-input-available" ? [chunk.input] : []));
const inputsInMessages = async (stage: LiveStage) =>
  (await stage.messages()).flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === "tool-act" && "input" in part ? [part.input] : [])),
  );
const errors = ({ chunks }: Received) =>
  chunks.flatMap((chunk) => (chunk.type === "tool-output-error" ? [chunk.errorText] : []));

function actTool(ran: unknown[], parameters: z.ZodObject, options: { requireConfirmation?: boolean } = {}) {
  return new FunctionTool({
    name: "act",
    description: "Acts.",
    parameters,
    execute: (args) => {
      ran.push(args);
      return { done: true };
    },
    ...options,
  });
}

/** A tool with a JSON schema, as ADK makes them of the tools of MCP servers. */
class RemoteTool extends BaseTool {
  readonly mcpTool: { inputSchema: object };
  readonly #ran: unknown[];
  constructor(ran: unknown[], inputSchema: object, description = "Acts.") {
    super({ name: "act", description });
    this.#ran = ran;
    this.mcpTool = { inputSchema };
  }
  override _getDeclaration(): FunctionDeclaration {
    return { name: this.name, description: this.description, parameters: { type: Type.OBJECT } };
  }
  override async runAsync({ args }: RunAsyncToolRequest): Promise<unknown> {
    this.#ran.push(args);
    return { done: true };
  }
}

const payment = z.object({ amount: z.number().default(5000), to: z.string().transform((to) => to.trim()) });
const sent = { to: " Hanako " };
const parsed = { amount: 5000, to: "Hanako" };

const settings = storeKinds.flatMap((store) => [true, false].map((live) => ({ live, store: store.name, kind: store })));

describe.each(settings)("in a chat (live: $live, store: $store)", ({ live, kind }) => {
  const open = (story: Omit<Story, "store">) => openStory({ ...story, store: kind.options() }, live);

  it("X9: a policy judges the defaults of the schema, and the question shows them", async () => {
    const { stage, ran, go, yes } = await open({
      args: sent,
      tools: (list) => [actTool(list, payment)],
      policies: { act: { confirm: ({ amount }) => Number(amount) > 100 } },
    });
    const question = await go();
    expect(inputs(question)).toEqual([parsed, parsed]);
    expect(await stage.pending()).toMatchObject([{ input: parsed, rawInput: sent }]);
    await yes();
    expect(ran).toEqual([parsed]);
    expect(await inputsInMessages(stage)).toEqual([parsed]);
    await expectSound(stage);
  });

  it("a free call is shown with the input that its tool gets, also if its schema gives another value each time", async () => {
    let count = 0;
    const counting = z.object({ to: z.string(), number: z.number().default(() => (count += 1)) });
    const { stage, ran, go } = await open({ args: { to: "Hanako" }, tools: (list) => [actTool(list, counting)] });
    const reply = await go();
    expect(inputs(reply)).toHaveLength(1);
    expect(ran).toEqual(inputs(reply));
    expect(await inputsInMessages(stage)).toEqual(ran);
    await stage.restart();
    expect(await inputsInMessages(stage)).toEqual(ran);
    await expectSound(stage);
  });

  it("a browser tool gets the input that its schema makes", async () => {
    const tool = clientTool({ name: "act", description: "Acts in the browser.", parameters: payment });
    const { stage, go } = await open({ args: sent, tools: () => [tool] });
    expect(inputs(await go())).toEqual([parsed]);
    const [row] = await stage.rows();
    expect(JSON.parse(row?.input ?? "")).toEqual(parsed);
    expect(await inputsInMessages(stage)).toEqual([parsed]);
  });

  it("a free call whose arguments do not fit runs nothing, and the model reads why", async () => {
    const { stage, ran, go } = await open({ args: { to: 5 }, tools: (list) => [actTool(list, payment)] });
    const reply = await go();
    expect(inputs(reply)).toEqual([{ to: 5 }]);
    expect(errors(reply)).toEqual([expect.stringContaining("Error in tool 'act'")]);
    expect(ran).toEqual([]);
    await expectSound(stage);
  });

  it("values that are not JSON are shown as text, and the tool gets the values", async () => {
    const schema = z.object({
      on: z.string().transform((day) => new Date(day)),
      count: z.string().transform(BigInt),
      names: z.array(z.string()).transform((names) => new Map(names.map((name, index) => [name, index]))),
    });
    const args = { on: "2026-11-16", count: "12345678901234567890", names: ["a"] };
    const shown = { on: "2026-11-16T00:00:00.000Z", count: "12345678901234567890", names: { a: 0 } };
    const got = { on: new Date("2026-11-16"), count: 12345678901234567890n, names: new Map([["a", 0]]) };
    const gated = await open({ args, tools: (list) => [actTool(list, schema, { requireConfirmation: true })] });
    expect(inputs(await gated.go()).at(-1)).toEqual(shown);
    expect(await gated.stage.pending()).toMatchObject([{ input: shown, rawInput: args }]);
    await gated.yes();
    expect(gated.ran).toEqual([got]);
    const free = await open({ args, tools: (list) => [actTool(list, schema)] });
    expect(inputs(await free.go())).toEqual([shown]);
    expect(free.ran).toEqual([got]);
  });

  it("X10: a callback that changes the arguments keeps a gated tool from running", async () => {
    const { stage, ran, go, yes } = await open({
      args: sent,
      tools: (list) => [actTool(list, payment, { requireConfirmation: true })],
      callback: ({ args }) => void (args["to"] = "Mallory"),
    });
    await go();
    expect(await stage.pending()).toMatchObject([{ input: parsed }]);
    expect(errors(await yes())).toEqual(["The arguments were changed after they were approved; the tool was not run."]);
    expect(ran).toEqual([]);
    expect(await stage.rows()).toMatchObject([{ state: "failed" }]);
    expect(await inputsInMessages(stage)).toEqual([parsed]);
    await expectSound(stage);
  });

  it("a callback may change the arguments of a free call: what it made of them is shown and runs", async () => {
    const { stage, ran, go } = await open({
      args: sent,
      tools: (list) => [actTool(list, payment)],
      callback: ({ args }) => void (args["to"] = " Taro "),
    });
    expect(inputs(await go())).toEqual([parsed, { ...parsed, to: "Taro" }]);
    expect(ran).toEqual([{ ...parsed, to: "Taro" }]);
    expect(await inputsInMessages(stage)).toEqual(ran);
    await expectSound(stage);
  });

  it("a callback cannot make a call that needs approval out of a free one", async () => {
    const { stage, ran, go } = await open({
      args: { ...sent, amount: 5 },
      tools: (list) => [actTool(list, payment)],
      policies: { act: { confirm: ({ amount }) => Number(amount) > 100 } },
      callback: ({ args }) => void (args["amount"] = 5000),
    });
    expect(errors(await go())).toEqual([expect.stringContaining("a person would have to approve them")]);
    expect(ran).toEqual([]);
    await expectSound(stage);
  });

  it("guards that refuse do so before a person is asked, plugins first", async () => {
    const asked: unknown[] = [];
    class Guard extends BasePlugin {
      override async beforeToolCallback({ toolArgs }: { toolArgs: Args }) {
        asked.push(["plugin", structuredClone(toolArgs)]);
        return undefined;
      }
    }
    const { stage, ran, go, told } = await open({
      args: sent,
      tools: (list) => [actTool(list, payment, { requireConfirmation: true })],
      plugins: [new Guard("guard")],
      callback: ({ args, context }) => {
        asked.push(["agent", structuredClone(args)]);
        context.state.set("refused", 1);
        return { error: "Not today." };
      },
    });
    expect(errors(await go())).toEqual(["Not today."]);
    expect(asked).toEqual([
      ["plugin", sent],
      ["agent", sent],
    ]);
    expect(await stage.rows()).toEqual([]);
    expect(ran).toEqual([]);
    expect(await told()).toContain('"stateDelta":{"refused":1}');
    await expectSound(stage);
  });

  it("a guard that fails asks no one and runs nothing", async () => {
    const { stage, ran, go } = await open({
      args: sent,
      tools: (list) => [actTool(list, payment, { requireConfirmation: true })],
      callback: () => {
        throw new Error("secret detail");
      },
    });
    const reply = await go();
    expect(errors(reply)).toEqual(["A callback before the tool failed; the tool was not run."]);
    expect(JSON.stringify(reply.chunks)).not.toContain("secret");
    expect(await stage.rows()).toEqual([]);
    expect(ran).toEqual([]);
    await expectSound(stage);
  });

  it("guards are asked again when the call runs, and what they did before the question does not count", async () => {
    let isClosed = false;
    const counts: unknown[] = [];
    const { stage, ran, go, yes } = await open({
      args: sent,
      tools: (list) => [actTool(list, payment, { requireConfirmation: true })],
      callback: ({ context }) => {
        counts.push(context.state.get("asked") ?? 0);
        context.state.set("asked", Number(context.state.get("asked") ?? 0) + 1);
        return isClosed ? { error: "The office has closed." } : undefined;
      },
    });
    await go();
    isClosed = true;
    expect(errors(await yes())).toEqual(["The office has closed."]);
    expect(counts).toEqual([0, 0]);
    expect(ran).toEqual([]);
    expect(await stage.rows()).toMatchObject([{ state: "failed", outcome: { error: "The office has closed." } }]);
    await expectSound(stage);
  });

  const schema = {
    type: "object",
    properties: {
      path: { type: "string" },
      options: { type: "object", properties: { force: { type: "boolean", default: true } }, default: {} },
    },
    required: ["path"],
    additionalProperties: false,
  };
  const filled = { path: "a.txt", options: { force: true } };

  it("the defaults of a JSON schema are in the question, and the tool gets them", async () => {
    const { stage, ran, go, yes } = await open({
      args: { path: "a.txt" },
      tools: (list) => [new RemoteTool(list, schema)],
      policies: { act: { confirm: true } },
    });
    expect(inputs(await go())).toEqual([filled, filled]);
    expect(await stage.pending()).toMatchObject([{ input: filled, rawInput: { path: "a.txt" } }]);
    await yes();
    expect(ran).toEqual([filled]);
    await expectSound(stage);
  });

  it("a free call gets the defaults of a JSON schema too", async () => {
    const { ran, go } = await open({ args: { path: "a.txt" }, tools: (list) => [new RemoteTool(list, schema)] });
    expect(inputs(await go())).toEqual([filled]);
    expect(ran).toEqual([filled]);
  });

  it.each([{}, { path: 5 }, { path: "a.txt", decoy: 1 }])(
    "%j does not fit the schema: no one is asked",
    async (args) => {
      const { stage, ran, go } = await open({
        args,
        tools: (list) => [new RemoteTool(list, schema)],
        policies: { act: { confirm: true } },
      });
      expect(errors(await go())).toEqual([expect.stringContaining("Error in tool 'act': The argument at $")]);
      expect(await stage.rows()).toEqual([]);
      expect(ran).toEqual([]);
      await expectSound(stage);
    },
  );

  it("X14: a tool that was swapped while its question was open does not run", async () => {
    let description = "Reads a file.";
    const { stage, ran, go, yes } = await open({
      args: { path: "a.txt" },
      tools: (list) => [new ListedToolset(async () => [new RemoteTool(list, schema, description)])],
      policies: { act: { confirm: true } },
    });
    await go();
    description = "Deletes a file.";
    expect(errors(await yes())).toEqual(["The tool act has changed since the approval was asked for; it was not run."]);
    expect(ran).toEqual([]);
    expect(await stage.rows()).toMatchObject([{ state: "failed" }]);
    await expectSound(stage);
  });

  it("X14: a tool whose schema another version of the server has changed does not run", async () => {
    let current = payment;
    const { stage, ran, go, yes } = await open({
      args: sent,
      tools: (list) => [actTool(list, current, { requireConfirmation: true })],
    });
    await go();
    current = payment.extend({ note: z.string().default("none") });
    await stage.restart();
    await yes();
    await stage.untilIdle();
    expect(ran).toEqual([]);
    expect(await stage.rows()).toMatchObject([
      { state: "failed", outcome: { error: expect.stringContaining("has changed since") } },
    ]);
    await expectSound(stage);
  });

  it("X14: a tool that is the same after a restart runs", async () => {
    const { stage, ran, go, yes } = await open({
      args: sent,
      tools: (list) => [actTool(list, payment, { requireConfirmation: true })],
    });
    await go();
    await stage.restart();
    await yes();
    await stage.untilIdle();
    expect(ran).toEqual([parsed]);
  });

  describe("a toolset that cannot be listed after the yes", () => {
    const away = () => {
      let isAway = false;
      return {
        leave: () => (isAway = true),
        comeBack: () => (isAway = false),
        story: {
          args: { path: "a.txt" },
          tools: (list: unknown[]) => [
            new ListedToolset(async () => {
              if (isAway) throw new Error("The server is away.");
              return [new RemoteTool(list, schema)];
            }),
          ],
          policies: { act: { confirm: true } },
        } as const,
      };
    };

    it("keeps the call approved, and the call runs once the toolset is back", async () => {
      const { leave, comeBack, story } = away();
      const { stage, ran, go, yes } = await open(story);
      await go();
      leave();
      await yes();
      expect(await stage.rows()).toMatchObject([{ state: "approved" }]);
      await stage.sweep();
      expect(await stage.rows()).toMatchObject([{ state: "approved" }]);
      comeBack();
      await stage.sweep();
      await stage.untilIdle();
      expect(ran).toEqual([filled]);
      expect(await stage.rows()).toMatchObject([{ state: "succeeded" }]);
      await stage.sweep();
      await stage.untilIdle();
      await expectSound(stage);
    });

    it("lets the call expire when its time to start is over", async () => {
      const { leave, comeBack, story } = away();
      const { stage, ran, go, yes } = await open(story);
      await go();
      leave();
      await yes();
      stage.clock.now += 31_000;
      comeBack();
      await stage.sweep();
      await stage.untilIdle();
      expect(await stage.rows()).toMatchObject([{ state: "expired" }]);
      expect(ran).toEqual([]);
    });
  });
});

describe.each([{ live: true }, { live: false }])(
  "whatever schema, arguments and callbacks do (live: $live)",
  ({ live }) => {
    let count = 0;
    const key = fc.constantFrom("a", "b", "c");
    const value = fc.oneof(
      fc.constantFrom<unknown>("5", 5, "2026-11-16", ["p", "q"], { deep: "z" }, null, true),
      fc.jsonValue({ maxDepth: 2 }),
    );
    /** A schema, and a value that it accepts. */
    const kind = fc.constantFrom<readonly [z.ZodType, unknown]>(
      [z.number().default(7), 3],
      [z.number().default(() => (count += 1)), 3],
      [z.coerce.number(), "12"],
      [z.string().transform((said) => `${said}!`), "x"],
      [z.string().transform((day) => new Date(day)), "2026-11-16"],
      [z.number().transform(() => new Date((count += 1))), 4],
      [z.number().transform((number) => BigInt(Math.round(number))), 9],
      [z.array(z.coerce.string()).default(["x"]), [1, 2]],
      [z.array(z.string()).transform((names) => new Set(names)), ["p", "q"]],
      [
        z.object({ deep: z.string().default("d"), at: z.any().transform(String).optional() }).default({ deep: "e" }),
        { at: 1 },
      ],
      [z.any(), { any: [1] }],
    );
    const given = fc.oneof(
      { weight: 8, arbitrary: fc.constant({ fits: true as const }) },
      { weight: 1, arbitrary: fc.constant({ missing: true as const }) },
      { weight: 1, arbitrary: fc.record({ value }) },
    );
    const made = fc.dictionary(key, fc.tuple(kind, given), { minKeys: 1 }).map((fields) => {
      const args: Args = {};
      for (const [name, [[, fitting], how]] of Object.entries(fields))
        if (!("missing" in how)) args[name] = "fits" in how ? fitting : how.value;
      return {
        schema: z.object(Object.fromEntries(Object.entries(fields).map(([name, [[type]]]) => [name, type]))),
        args,
      };
    });
    const change = fc.oneof(
      fc.record({ how: fc.constant("set" as const), key, value: fc.oneof(value, fc.constant(new Date(0))) }),
      fc.record({ how: fc.constant("delete" as const), key, value: fc.constant(undefined) }),
      fc.record({ how: fc.constant("return" as const), key, value: fc.constant(undefined) }),
    );
    const when = fc.constantFrom("before the question", "when it runs", "always");

    it("the tool function gets what the card and the row show, or it does not run", async () => {
      let sentArgs: Args = {};
      let act: (args: Args) => Args | undefined = () => undefined;
      let isGated = false;
      let runs = 0;
      const tool = { current: undefined as FunctionTool<z.ZodObject> | undefined };
      const { stage, ran, go, yes } = await openStory(
        {
          args: () => sentArgs,
          tools: (list) => [(tool.current ??= actTool(list, z.object({})))],
          policies: {
            act: {
              // A policy that writes into what it judges changes nothing.
              confirm: (judged) => {
                for (const name of Object.keys(judged)) judged[name] = "changed by the policy";
                return isGated;
              },
            },
          },
          callback: ({ args }) => act(args),
        },
        live,
      );
      const shownText = (shown: unknown): string =>
        JSON.stringify(shown, (_, each: unknown) =>
          typeof each === "bigint" ? String(each) : each instanceof Set ? [...each] : each,
        );
      await fc.assert(
        fc.asyncProperty(
          made,
          fc.option(fc.record({ change, when }), { freq: 1 }),
          fc.boolean(),
          async ({ schema, args }, changing, gated) => {
            Object.assign(tool.current ?? {}, { parameters: schema });
            sentArgs = args;
            isGated = gated;
            ran.length = 0;
            let isAnswered = !gated;
            act = (passed) => {
              const isTime = changing?.when === "always" || (changing?.when === "when it runs") === isAnswered;
              if (!changing || !isTime) return undefined;
              if (changing.change.how === "return") return { replaced: true };
              if (changing.change.how === "delete") delete passed[changing.change.key];
              else passed[changing.change.key] = changing.change.value;
              return undefined;
            };
            const before = (await stage.rows()).length;
            const replies = [await go()];
            const [question] = await stage.pending();
            isAnswered = true;
            if (question) replies.push(await yes());
            const shown = replies.flatMap(inputs).at(-1);
            const row = (await stage.rows())[before];
            for (const got of ran) {
              expect(JSON.parse(shownText(got))).toEqual(shown);
              if (gated) expect(JSON.parse(row?.input ?? "")).toEqual(shown);
            }
            if (question) expect(question.input).toEqual(shown);
            expect(ran.length).toBeLessThanOrEqual(1);
            runs += ran.length;
            expect((await inputsInMessages(stage)).at(-1)).toEqual(shown);
            if (gated && ran.length === 1) expect(row?.state).toBe("succeeded");
          },
        ),
        { numRuns: 60 },
      );
      expect(runs).toBeGreaterThan(0);
    });
  },
);
