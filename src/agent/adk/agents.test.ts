import {
  AgentTool,
  BaseTool,
  createEvent,
  createEventActions,
  type Event,
  FunctionTool,
  LlmAgent,
  LogLevel,
  SequentialAgent,
  setLogLevel,
} from "@google/adk";
import { Type } from "@google/genai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agentOf, agentOutcome, agentRequest } from "./agent-tool.ts";
import { agentTools } from "./agents.ts";

setLogLevel(LogLevel.ERROR);

const agent = (name: string, options: Partial<ConstructorParameters<typeof LlmAgent>[0]> = {}) =>
  new LlmAgent({ name, model: "gemini-2.5-flash", description: name, ...options });
const tool = (options: Parameters<typeof agent>[1] = {}) => new AgentTool({ agent: agent("helper", options) });
const said = (text: string): Event => createEvent({ author: "helper", content: { role: "model", parts: [{ text }] } });

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

  it("can be told from other tools", () => {
    const helper = tool();
    expect(helper).toBeInstanceOf(BaseTool);
    expect(agentOf(helper).name).toBe("helper");
  });
});

describe("what an agent run as a tool is asked", () => {
  it("is the request, or all arguments where it has a schema for them", () => {
    expect(agentRequest(tool(), { request: "Pay 7." })).toBe("Pay 7.");
    const inputSchema = {
      type: Type.OBJECT,
      properties: { request: { type: Type.STRING }, amount: { type: Type.NUMBER } },
    };
    expect(agentRequest(tool({ inputSchema }), { request: "Pay.", amount: 7 })).toBe('{"request":"Pay.","amount":7}');
  });

  it("is never nothing, which would reach no model", () => {
    expect(agentRequest(tool(), {})).toBe("{}");
    expect(agentRequest(tool(), { request: "" })).toBe('{"request":""}');
  });
});

describe("what an agent run as a tool answers", () => {
  it("is its last words", () => {
    expect(agentOutcome(tool(), [said("One."), said("Two.")])).toEqual({
      event: "succeed",
      outcome: { result: "Two." },
      stateDelta: {},
    });
    expect(agentOutcome(tool(), [])).toEqual({ event: "succeed", outcome: { result: "" }, stateDelta: {} });
  });

  it("is data where it has a schema for it, and its words where they are none", () => {
    const outputSchema = { type: Type.OBJECT, properties: { paid: { type: Type.NUMBER } } };
    expect(agentOutcome(tool({ outputSchema }), [said('{"paid":7}')]).outcome).toEqual({ paid: 7 });
    expect(agentOutcome(tool({ outputSchema }), [said("[7]")]).outcome).toEqual({ result: [7] });
    expect(agentOutcome(tool({ outputSchema }), [said("Paid.")]).outcome).toEqual({ result: "Paid." });
  });

  it("is a failure where its model failed", () => {
    const error = createEvent({ author: "helper", errorCode: "429", errorMessage: "Slow down." });
    expect(agentOutcome(tool(), [said("One."), error])).toMatchObject({
      event: "fail",
      outcome: { error: "The agent helper failed: Slow down." },
    });
    expect(agentOutcome(tool(), [error, said("Two.")])).toMatchObject({ event: "succeed" });
  });

  it("comes with the state it left", () => {
    const left = (stateDelta: Record<string, unknown>) =>
      createEvent({ author: "helper", actions: createEventActions({ stateDelta }) });
    expect(agentOutcome(tool(), [left({ a: 1, b: 1 }), left({ b: 2 }), said("Done.")]).stateDelta).toEqual({
      a: 1,
      b: 2,
    });
  });
});
