import { AgentTool, createEvent, createEventActions, type Event, LlmAgent, LogLevel, setLogLevel } from "@google/adk";
import { Type } from "@google/genai";
import { describe, expect, it } from "vitest";
import { agentOf, agentOutcome, agentRequest } from "./agent-tool.ts";

setLogLevel(LogLevel.ERROR);

const tool = (options: Partial<ConstructorParameters<typeof LlmAgent>[0]> = {}) =>
  new AgentTool({
    agent: new LlmAgent({ name: "helper", model: "gemini-2.5-flash", description: "helper", ...options }),
  });
const said = (text: string): Event => createEvent({ author: "helper", content: { role: "model", parts: [{ text }] } });

describe("the agent of a tool", () => {
  it("is found, although ADK keeps it private", () => {
    expect(agentOf(tool()).name).toBe("helper");
  });
});

describe("the request to an agent run as a tool", () => {
  it("is its argument `request`, or all arguments if the agent has a schema for them", () => {
    expect(agentRequest(tool(), { request: "Pay 7." })).toBe("Pay 7.");
    const inputSchema = {
      type: Type.OBJECT,
      properties: { request: { type: Type.STRING }, amount: { type: Type.NUMBER } },
    };
    expect(agentRequest(tool({ inputSchema }), { request: "Pay.", amount: 7 })).toBe('{"request":"Pay.","amount":7}');
  });

  it("is never empty, because an empty text reaches no model", () => {
    expect(agentRequest(tool(), {})).toBe("{}");
    expect(agentRequest(tool(), { request: "" })).toBe('{"request":""}');
  });
});

describe("the result of an agent run as a tool", () => {
  it("is its last text", () => {
    expect(agentOutcome(tool(), [said("One."), said("Two.")])).toEqual({
      event: "succeed",
      outcome: { result: "Two." },
      stateDelta: {},
    });
    expect(agentOutcome(tool(), [])).toEqual({ event: "succeed", outcome: { result: "" }, stateDelta: {} });
  });

  it("is parsed if the agent has an output schema, and is its text if that cannot be parsed", () => {
    const outputSchema = { type: Type.OBJECT, properties: { paid: { type: Type.NUMBER } } };
    expect(agentOutcome(tool({ outputSchema }), [said('{"paid":7}')]).outcome).toEqual({ paid: 7 });
    expect(agentOutcome(tool({ outputSchema }), [said("[7]")]).outcome).toEqual({ result: [7] });
    expect(agentOutcome(tool({ outputSchema }), [said("Paid.")]).outcome).toEqual({ result: "Paid." });
  });

  it("is a failure if its last event is an error", () => {
    const error = createEvent({ author: "helper", errorCode: "429", errorMessage: "Slow down." });
    expect(agentOutcome(tool(), [said("One."), error])).toMatchObject({
      event: "fail",
      outcome: { error: "The agent helper failed: Slow down." },
    });
    expect(agentOutcome(tool(), [error, said("Two.")])).toMatchObject({ event: "succeed" });
  });

  it("comes with the state that the agent changed", () => {
    const left = (stateDelta: Record<string, unknown>) =>
      createEvent({ author: "helper", actions: createEventActions({ stateDelta }) });
    expect(agentOutcome(tool(), [left({ a: 1, b: 1 }), left({ b: 2 }), said("Done.")]).stateDelta).toEqual({
      a: 1,
      b: 2,
    });
  });
});
