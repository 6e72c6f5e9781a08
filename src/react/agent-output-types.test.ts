/** The types of what a tool gets and returns, as the page has them: JSON, in the form in which ADK sends it. */
import { clientTool, defineAgent, defineTool } from "adk-stream-protocol";
import { LlmAgent } from "@google/adk";
import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";
import type { AgentMessage } from "./agent-message.ts";
import type { ClientTools } from "./use-client-tools.ts";

const base = { description: "A tool.", parameters: z.object({}) };

const refund = defineTool({
  name: "refund",
  description: "Pays back.",
  parameters: z.object({
    amount: z.number().optional(),
    currency: z.string().default("EUR"),
    order: z.string().transform(Number),
    tags: z.array(z.enum(["late", "broken"])),
    due: z.string().transform((text) => new Date(text)),
  }),
  execute: async ({ due }) => ({ at: new Date(0), due, lines: [{ id: 1n }], note: undefined, undo: () => 1 }),
});
const words = defineTool({ ...base, name: "words", execute: () => "ok" });
const count = defineTool({ ...base, name: "count", execute: async () => 5 });
const list = defineTool({ ...base, name: "list", execute: () => [new Date(0)] });
const nothing = defineTool({ ...base, name: "nothing", execute: () => undefined });
const either = defineTool({ ...base, name: "either", execute: (): { a: 1 } | string => ({ a: 1 }) });
const anything = defineTool({ ...base, name: "anything", execute: (): unknown => 1 });
const deploy = defineTool({ ...base, name: "deploy", isLongRunning: true, execute: () => ({ status: "begun" }) });
const place = clientTool({ ...base, name: "place", output: z.string() });
const places = clientTool({ ...base, name: "places", output: z.array(z.string()) });
const free = clientTool({ ...base, name: "free" });

const clerk = defineAgent({ name: "clerk", tools: [refund, place] });
const plain = new LlmAgent({ name: "plain" });
const front = defineAgent({ name: "front", tools: [words, places], subAgents: [clerk, plain] });
const root = defineAgent({
  name: "root",
  tools: [count, list, nothing, either, anything, deploy, free],
  subAgents: [front],
});

type Message = AgentMessage<typeof root>;
type Part = Message["parts"][number];
type Called<Name> = Extract<Part, { type: Name; state: "input-available" }>;
type Input<Name extends string> = Called<`tool-${Name}`> extends { input: infer Value } ? Value : never;
type Done<Name> = Extract<Part, { type: Name; state: "output-available" }>;
type Output<Name extends string> = Done<`tool-${Name}`> extends { output: infer Value } ? Value : never;

describe("the page has the types of", () => {
  it("the input after the schema was applied", () => {
    expectTypeOf<Input<"refund">>().toEqualTypeOf<{
      amount?: number;
      currency: string;
      order: number;
      tags: ("late" | "broken")[];
      due: string;
    }>();
  });

  it("an output that is an object", () => {
    expectTypeOf<Output<"refund">>().toEqualTypeOf<{ at: string; due: string; lines: { id: string }[] }>();
  });

  it("any other output, which ADK wraps", () => {
    expectTypeOf<Output<"words">>().toEqualTypeOf<{ result: string }>();
    expectTypeOf<Output<"count">>().toEqualTypeOf<{ result: number }>();
    expectTypeOf<Output<"list">>().toEqualTypeOf<{ results: string[] }>();
    expectTypeOf<Output<"nothing">>().toEqualTypeOf<{ result?: null }>();
    expectTypeOf<Output<"either">>().toEqualTypeOf<{ a: 1 } | { result: string }>();
    expectTypeOf<Output<"anything">>().toBeUnknown();
    expectTypeOf<Output<"place">>().toEqualTypeOf<{ result: string }>();
    expectTypeOf<Output<"places">>().toEqualTypeOf<{ result: string[] }>();
    expectTypeOf<Output<"free">>().toBeUnknown();
  });

  it("a result that is reported later: any", () => {
    expectTypeOf<Output<"deploy">>().toBeUnknown();
  });

  it("the tools of sub-agents, at every level", () => {
    type Name = Extract<Message["parts"][number], { type: `tool-${string}` }>["type"];
    expectTypeOf<Name>().toEqualTypeOf<
      | `tool-${"refund" | "place" | "words" | "places"}`
      | `tool-${"count" | "list" | "nothing" | "either" | "anything" | "deploy" | "free"}`
    >();
  });

  it("browser tools, which return what they declare", () => {
    const tools: ClientTools<Message> = { place: () => "Tokyo", places: async () => ["Tokyo"], free: () => 1 };
    // @ts-expect-error -- another type than the tool declares
    const wrong: ClientTools<Message> = { place: () => 5 };
    expectTypeOf([tools, wrong]).toBeArray();
  });
});
