import { AgentTool, FunctionTool, LlmAgent, LogLevel, SequentialAgent, setLogLevel } from "@google/adk";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agentTools } from "./agents.ts";

setLogLevel(LogLevel.ERROR);

const agent = (name: string, options: Partial<ConstructorParameters<typeof LlmAgent>[0]> = {}) =>
  new LlmAgent({ name, model: "gemini-2.5-flash", description: name, ...options });

describe("the agents that are run as tools", () => {
  it("are found below the root, at any depth, once each", () => {
    const shared = agent("shared");
    const deep = agent("deep", { tools: [new AgentTool({ agent: shared })] });
    const plain = new FunctionTool({ name: "plain", description: "", parameters: z.object({}), execute: () => ({}) });
    const root = new SequentialAgent({
      name: "root",
      subAgents: [
        agent("first", { tools: [new AgentTool({ agent: deep }), plain] }),
        agent("second", { tools: [new AgentTool({ agent: agent("other") })] }),
      ],
    });
    expect(agentTools(root).map(({ name }) => name)).toEqual(["deep", "shared", "other"]);
  });

  it("may run each other", () => {
    const left = agent("left");
    const right = agent("right", { tools: [new AgentTool({ agent: left })] });
    left.tools.push(new AgentTool({ agent: right }));
    expect(agentTools(left).map(({ name }) => name)).toEqual(["right", "left"]);
  });
});
