import {
  AgentTool,
  BaseAgent,
  type BaseTool,
  BaseToolset,
  ExampleTool,
  FunctionTool,
  GOOGLE_MAPS_GROUNDING,
  GOOGLE_SEARCH,
  LlmAgent,
  LogLevel,
  NodeTool,
  PRELOAD_MEMORY,
  requestInputTool,
  SequentialAgent,
  setLogLevel,
  URL_CONTEXT,
  VertexAiSearchTool,
  Workflow,
} from "@google/adk";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { refuseAgents, refuseToolsets } from "./refuse-agents.ts";

setLogLevel(LogLevel.ERROR);

type AgentOptions = Partial<ConstructorParameters<typeof LlmAgent>[0]>;
const agent = (name: string, options: AgentOptions = {}) =>
  new LlmAgent({ name, model: "gemini-2.5-flash", description: name, ...options });
const payOut = () => "PAID OUT";
const workflow = () => new Workflow({ name: "refund", inputSchema: z.object({}), edges: [["START", payOut]] });
const pay = new FunctionTool({ name: "pay", description: "", parameters: z.object({}), execute: () => ({}) });

class Toolset extends BaseToolset {
  readonly #tools: () => Promise<BaseTool[]>;
  constructor(tools: () => Promise<BaseTool[]>) {
    super([]);
    this.#tools = tools;
  }
  override getTools() {
    return this.#tools();
  }
  override async close() {}
}

/** An agent of plain code, as an application may write it. */
class PlainAgent extends BaseAgent {
  protected override async *runAsyncImpl() {}
  protected override async *runLiveImpl() {}
}

const places: [where: string, (part: "workflow" | "node tool" | "input") => BaseAgent][] = [
  ["of the root", (part) => agent("root", holding(part))],
  ["of a sub-agent", (part) => new SequentialAgent({ name: "root", subAgents: [agent("inner", holding(part))] })],
  ["below plain code", (part) => new PlainAgent({ name: "root", subAgents: [agent("inner", holding(part))] })],
  [
    "of an agent run as a tool",
    (part) => agent("root", { tools: [new AgentTool({ agent: agent("inner", holding(part)) })] }),
  ],
];

function holding(part: "workflow" | "node tool" | "input"): AgentOptions {
  if (part === "workflow") return { tools: [workflow()] };
  return { tools: [part === "input" ? requestInputTool : new NodeTool(workflow())] };
}

describe("what the gate cannot see is refused at start", () => {
  it.each(places)("a workflow in the tools %s", (_, root) => {
    expect(() => refuseAgents(root("workflow"), [])).toThrow(/has the workflow refund in its tools. Workflows are not/);
  });

  it.each(places)("a NodeTool %s", (_, root) => {
    expect(() => refuseAgents(root("node tool"), [])).toThrow(/The tool refund of \w+ runs a workflow. Workflows are/);
  });

  it.each(places)("requestInputTool %s, with what to use instead", (_, root) => {
    expect(() => refuseAgents(root("input"), [])).toThrow(/Use clientTool\(\{ name: "request_input", … \}\) instead/);
  });

  it("a workflow as a sub-agent, or in an AgentTool", () => {
    const sub = agent("root");
    (sub.subAgents as unknown[]).push(workflow());
    expect(() => refuseAgents(sub, [])).toThrow("The agent root runs the workflow refund. Workflows are not supported");
    const tool = new AgentTool({ agent: workflow() as unknown as BaseAgent });
    expect(() => refuseAgents(agent("root", { tools: [tool] }), [])).toThrow(
      "The AgentTool refund of root runs the workflow refund. Workflows are not supported",
    );
  });

  it("an agent in the tools of another, with what to use instead", () => {
    const clerk = agent("clerk", { inputSchema: z.object({}) });
    expect(() => refuseAgents(agent("root", { tools: [clerk] }), [])).toThrow(
      "The agent clerk is in the tools of root. Use new AgentTool({ agent: clerk }) instead.",
    );
  });

  const requestTools = [
    GOOGLE_SEARCH,
    URL_CONTEXT,
    GOOGLE_MAPS_GROUNDING,
    PRELOAD_MEMORY,
    new ExampleTool([]),
    new VertexAiSearchTool({ dataStoreId: "d" }),
  ];
  it.each(requestTools.map((tool) => [tool.name, tool] as const))("a policy that asks about %s", (name, tool) => {
    const root = agent("root", { tools: [tool, pay] });
    expect(() => refuseAgents(root, [name])).toThrow(
      `The policy for ${name} asks a person, but the model never calls ${name}: it only changes the request.`,
    );
    expect(() => refuseAgents(root, ["pay"])).not.toThrow();
  });

  it("what a toolset brings", async () => {
    const root = (...tools: BaseTool[]) => agent("root", { tools: [new Toolset(async () => tools)] });
    await expect(refuseToolsets(root(new NodeTool(workflow())), [])).rejects.toThrow("Workflows are not supported");
    await expect(refuseToolsets(root(requestInputTool), [])).rejects.toThrow("Use clientTool(");
    await expect(refuseToolsets(root(GOOGLE_SEARCH), ["google_search"])).rejects.toThrow("the model never calls");
    const inner = new AgentTool({ agent: agent("inner", holding("workflow")) });
    await expect(refuseToolsets(root(inner), [])).rejects.toThrow("Workflows are not supported");
  });

  it("and nothing else: functions, agents as tools, agents that run each other, toolsets that cannot be listed", async () => {
    const left = agent("left", { tools: [pay, GOOGLE_SEARCH] });
    left.tools.push(new AgentTool({ agent: agent("right", { tools: [new AgentTool({ agent: left })] }) }));
    const away = new Toolset(async () => {
      throw new Error("Not now.");
    });
    const root = agent("root", { tools: [away, new Toolset(async () => [pay])], subAgents: [left] });
    expect(() => refuseAgents(root, ["pay"])).not.toThrow();
    await expect(refuseToolsets(root, ["pay"])).resolves.toBeUndefined();
  });
});
