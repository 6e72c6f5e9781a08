/** What the compiler knows about an agent's tools in the page. The expectations are checked by the type checker. */
import { clientTool, defineAgent, defineTool } from "adk-stream-protocol";
import { FunctionTool, LlmAgent } from "@google/adk";
import type { UIMessage } from "ai";
import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import type { AgentMessage, AgentMetadata } from "./agent-message.ts";
import type { useAgentChat } from "./use-agent-chat.ts";
import type { ClientTools } from "./use-client-tools.ts";

const pay = defineTool({
  name: "pay",
  description: "Pays.",
  parameters: z.object({ amount: z.number(), recipient: z.string().default("me") }),
  requireConfirmation: ({ amount }) => amount > 10,
  execute: async ({ amount, recipient }) => ({ paid: amount, to: recipient }),
});
const locate = clientTool({
  name: "locate",
  description: "Finds the place.",
  parameters: z.object({ exact: z.boolean() }),
  output: z.object({ latitude: z.number() }),
});
const untyped = new FunctionTool({ name: "other", description: "Other.", execute: () => 1 });
const agent = defineAgent({ name: "cashier", model: "gemini-2.5-flash", tools: [pay, locate, untyped] });

type Message = AgentMessage<typeof agent>;
type Part<Type extends string> = Extract<Message["parts"][number], { type: Type }>;

describe("an agent made by defineAgent", () => {
  it("is ADK's agent with ADK's tools", () => {
    expect(agent).toBeInstanceOf(LlmAgent);
    expect(agent.tools).toEqual([pay, locate, untyped]);
    expect(pay).toBeInstanceOf(FunctionTool);
    expectTypeOf(agent).toExtend<LlmAgent>();
    expectTypeOf(pay).toExtend<FunctionTool<z.ZodObject<{ amount: z.ZodNumber }>>>();
  });

  it("gives the page the types of its tools", () => {
    type Pay = Part<"tool-pay">;
    type Paid = Extract<Pay, { state: "output-available" }>["output"];
    type Asked = Extract<Pay, { state: "approval-requested" }>["input"];
    type Place = Extract<Part<"tool-locate">, { state: "output-available" }>["output"];
    expectTypeOf<Asked>().toEqualTypeOf<{ amount: number; recipient: string }>();
    expectTypeOf<Paid>().toEqualTypeOf<{ paid: number; to: string }>();
    expectTypeOf<Place>().toEqualTypeOf<{ latitude: number }>();
    expectTypeOf<Part<"data-approval">["data"]["state"]>().toExtend<string>();
    expectTypeOf<NonNullable<Message["metadata"]>>().toEqualTypeOf<AgentMetadata>();
    expectTypeOf<ReturnType<typeof useAgentChat<typeof agent>>["messages"]>().toEqualTypeOf<Message[]>();
  });

  it("types the browser tools of the page", () => {
    expectTypeOf<Parameters<NonNullable<ClientTools<Message>["locate"]>>[0]>().toEqualTypeOf<{ exact: boolean }>();
    const tools: ClientTools<Message> = { locate: ({ exact }) => ({ latitude: exact ? 1 : 2 }) };
    // @ts-expect-error -- another type than the tool declares
    const wrong: ClientTools<Message> = { locate: () => ({ latitude: "north" }) };
    // @ts-expect-error -- the agent has no such tool
    const unknown: ClientTools<Message> = { move: () => 1 };
    expect([tools, wrong, unknown]).toHaveLength(3);
  });

  it("is not needed: any agent gives the types of any tool", () => {
    expectTypeOf<AgentMessage<LlmAgent>>().toExtend<UIMessage>();
    const free: ClientTools = { anything: (input: { track: number }) => input.track };
    expect(Object.keys(free)).toEqual(["anything"]);
  });
});
