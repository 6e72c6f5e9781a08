import {
  AgentTool,
  BaseAgent,
  type BaseTool,
  BaseToolset,
  FunctionTool,
  LlmAgent,
  LogLevel,
  type ReadonlyContext,
  setLogLevel,
  SkillToolset,
} from "@google/adk";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type Logger, silentLogger } from "../support/index.ts";
import { Toolsets } from "./toolsets.ts";

setLogLevel(LogLevel.ERROR);

const named = (name: string) =>
  new FunctionTool({ name, description: "Works.", parameters: z.object({}), execute: () => ({}) });

/** A toolset that does what the test says. */
class Shelf extends BaseToolset {
  listings = 0;
  closed = 0;
  readonly #list: (context?: ReadonlyContext) => BaseTool[] | Promise<BaseTool[]>;
  constructor(list: (context?: ReadonlyContext) => BaseTool[] | Promise<BaseTool[]>, prefix?: string) {
    super([], prefix);
    this.#list = list;
  }
  override async getTools(context?: ReadonlyContext): Promise<BaseTool[]> {
    this.listings += 1;
    return this.#list(context);
  }
  override async close(): Promise<void> {
    this.closed += 1;
  }
}

const never = () => new Promise<never>(() => undefined);
const context = {} as ReadonlyContext;

function open(tools: LlmAgent["tools"], { logger = silentLogger }: { logger?: Logger } = {}) {
  const agent = new LlmAgent({ name: "root_agent", model: "gemini-2.5-flash", tools });
  const toolsets = new Toolsets({ agent, logger, listMs: 30, pauseMs: 60_000 });
  return { agent, toolsets };
}

describe("listing", () => {
  it("finds the tools of all agents, with the names that the model calls", async () => {
    const helper = new LlmAgent({ name: "helper", tools: [new Shelf(() => [named("inner_tool")])] });
    const { toolsets } = open([
      named("pay"),
      new AgentTool({ agent: helper }),
      new Shelf(() => [named("fs_read")], "fs"),
    ]);
    expect(toolsets.has("pay")).toBe(true);
    expect(toolsets.has("fs_read")).toBe(false);
    const { names, isComplete, away, listed } = await toolsets.list();
    expect([...names].toSorted()).toEqual(["fs_read", "helper", "inner_tool", "pay", "transfer_to_agent"]);
    expect({ isComplete, away }).toEqual({ isComplete: true, away: [] });
    expect(listed).toContainEqual({ agent: "root_agent", prefix: "fs", names: new Set(["fs_read"]) });
    expect(toolsets.has("fs_read")).toBe(true);
  });

  it.each([
    ["hangs", never],
    ["fails", () => Promise.reject(new Error("refused"))],
    [
      "throws",
      () => {
        throw new Error("broken");
      },
    ],
  ])("counts a toolset that %s as away, and lists the others", async (_, list) => {
    const warnings: unknown[] = [];
    const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) };
    const { toolsets } = open([new Shelf(list), new Shelf(() => [named("read")])], { logger });
    const { names, isComplete, away } = await toolsets.list();
    expect(names.has("read")).toBe(true);
    expect({ isComplete, away }).toEqual({ isComplete: false, away: ["root_agent"] });
    expect(warnings).toEqual(["A toolset could not be listed; its tools are away."]);
  });

  it("is shared by those who ask at the same time", async () => {
    const shelf = new Shelf(() => [named("read")]);
    const { toolsets } = open([shelf]);
    await Promise.all([toolsets.list(), toolsets.list(), toolsets.list()]);
    expect(shelf.listings).toBe(1);
  });

  it("is not complete with an agent of plain code, which may run other agents", async () => {
    class Plain extends BaseAgent {
      protected override async *runAsyncImpl() {}
      protected override async *runLiveImpl() {}
    }
    const agent = new Plain({ name: "plain" });
    expect((await new Toolsets({ agent, logger: silentLogger }).list()).isComplete).toBe(false);
  });

  it("finds the tools that a skill brings only when it is active", async () => {
    const { toolsets } = open([new SkillToolset([], { additionalTools: [named("extra")] })]);
    expect((await toolsets.list()).names.has("extra")).toBe(true);
  });
});

describe("an agent", () => {
  it("gets the tools of its other toolsets while one hangs, and waits for that one once only", async () => {
    const stuck = new Shelf(never);
    const { agent } = open([stuck, new Shelf(() => [named("read")])]);
    for (let request = 0; request < 3; request += 1)
      expect((await agent.canonicalTools(context)).map(({ name }) => name)).toEqual(["read"]);
    expect(stuck.listings).toBe(1);
  });

  it("gets the tools of a toolset again as soon as one that failed is back", async () => {
    let isBroken = true;
    const shelf = new Shelf(() => (isBroken ? Promise.reject(new Error("refused")) : [named("read")]));
    const { agent } = open([shelf]);
    expect(await agent.canonicalTools(context)).toEqual([]);
    isBroken = false;
    expect(await agent.canonicalTools(context)).toHaveLength(1);
  });

  it("can be given to two bridges: its toolsets are guarded once", async () => {
    const shelf = new Shelf(() => [named("read")]);
    const { agent } = open([shelf]);
    const second = new Toolsets({ agent, logger: silentLogger });
    expect(agent.tools).toHaveLength(1);
    expect((await second.list()).names.has("read")).toBe(true);
    const [tool] = await agent.canonicalTools(context);
    expect(tool && second.originOf(tool, agent)).toBe("toolset");
  });

  it("K26: keeps its toolsets open after a run; closing the bridge closes them", async () => {
    const shelf = new Shelf(() => []);
    const { agent, toolsets } = open([shelf]);
    for (const tool of agent.tools) if (tool instanceof BaseToolset) await tool.close();
    expect(shelf.closed).toBe(0);
    await toolsets.close();
    expect(shelf.closed).toBe(1);
  });

  it("stays open while another bridge uses it", async () => {
    const shelf = new Shelf(() => []);
    const { agent, toolsets: first } = open([shelf]);
    const second = new Toolsets({ agent, logger: silentLogger });
    first.use();
    second.use();
    await first.close();
    expect(shelf.closed).toBe(0);
    await second.close();
    expect(shelf.closed).toBe(1);
  });
});

describe("where a tool comes from", () => {
  it("is known by the tool itself, not by its name", async () => {
    const own = named("read");
    const { agent, toolsets } = open([own, new Shelf(() => [named("read"), named("transfer_to_agent")])]);
    const [, read, transfer] = await agent.canonicalTools(context);
    expect(toolsets.originOf(own, agent)).toBe("agent");
    for (const tool of [read, transfer]) expect(tool && toolsets.originOf(tool, agent)).toBe("toolset");
    expect(toolsets.originOf(named("transfer_to_agent"), agent)).toBe("adk");
    expect(toolsets.originOf(named("read"), agent)).toBe("unknown");
  });

  it("is known for an agent that an agent of plain code runs", () => {
    const { toolsets } = open([]);
    const tool = named("hidden");
    const hidden = new LlmAgent({ name: "hidden_agent", tools: [tool, new Shelf(() => [])] });
    expect(toolsets.originOf(tool, hidden)).toBe("agent");
    expect(toolsets.has("hidden")).toBe(true);
  });
});
