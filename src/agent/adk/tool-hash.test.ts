import { AgentTool, BaseTool, FunctionTool, LlmAgent } from "@google/adk";
import { type FunctionDeclaration, type Schema, Type } from "@google/genai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { clientTool } from "./client-tool.ts";
import { declaredNames, toolHash } from "./tool-hash.ts";

const pay = (description = "Pays.", parameters = z.object({ amount: z.number() }), name = "pay") =>
  new FunctionTool({ name, description, parameters, execute: () => ({}) });

/** A tool whose declaration writes into the schema of its server, as ADK's MCP tool does. */
class RemoteTool extends BaseTool {
  readonly mcpTool: { inputSchema: Record<string, unknown> };
  constructor(inputSchema: Record<string, unknown>) {
    super({ name: "read", description: "Reads." });
    this.mcpTool = { inputSchema };
  }
  override _getDeclaration(): FunctionDeclaration {
    this.mcpTool.inputSchema["type"] ??= "object";
    return { name: this.name };
  }
  override async runAsync(): Promise<unknown> {
    return {};
  }
}

describe("the hash of a tool", () => {
  it("is the same for the same declaration, whatever the order of its keys", () => {
    expect(toolHash(pay(), "agent")).toBe(toolHash(pay(), "agent"));
    expect(toolHash(new RemoteTool({ a: 1, b: { c: 2, d: 3 } }), "agent")).toBe(
      toolHash(new RemoteTool({ b: { d: 3, c: 2 }, a: 1 }), "agent"),
    );
  });

  it("is the same before and after the tool was declared to the model", () => {
    const tool = new RemoteTool({ properties: {} });
    const before = toolHash(tool, "agent");
    tool._getDeclaration();
    expect(toolHash(tool, "agent")).toBe(before);
  });

  it("does not depend on a default that is another value each time", () => {
    let count = 0;
    const parameters = z.object({ at: z.number().default(() => (count += 1)), default: z.number().optional() });
    const tool = pay("Pays.", parameters as never);
    expect(toolHash(tool, "agent")).toBe(toolHash(tool, "agent"));
    const other = pay("Pays.", z.object({ at: z.number().default(1) }) as never);
    expect(toolHash(other, "agent")).not.toBe(toolHash(tool, "agent"));
  });

  it("is another one for another name, description, schema or agent", () => {
    const hashes = [
      toolHash(pay(), "agent"),
      toolHash(pay(), "other"),
      toolHash(pay("Pays twice."), "agent"),
      toolHash(pay("Pays.", z.object({ amount: z.string() as never })), "agent"),
      toolHash(pay("Pays.", undefined, "pay_2"), "agent"),
      toolHash(new RemoteTool({ properties: { a: { default: 1 } } }), "agent"),
      toolHash(new RemoteTool({ properties: { a: { default: 2 } } }), "agent"),
    ];
    expect(new Set(hashes).size).toBe(hashes.length);
  });

  it("exists for a tool whose schema cannot be read", () => {
    const cyclic: Record<string, unknown> = {};
    cyclic["self"] = cyclic;
    expect(toolHash(new RemoteTool(cyclic), "agent")).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe("the names that a tool declares", () => {
  const mail = z.object({ to: z.string(), subject: z.string().default("(none)"), body: z.string() });
  const string = { type: Type.STRING };
  const schema: Schema = { type: Type.OBJECT, properties: { to: string, subject: string, body: string } };
  const send = { name: "send", description: "Sends." };

  it.each<[string, BaseTool]>([
    ["a zod schema", new FunctionTool({ ...send, parameters: mail, execute: () => ({}) })],
    ["a schema of Gemini", new FunctionTool({ ...send, parameters: schema, execute: () => ({}) })],
    ["a browser tool", clientTool({ ...send, parameters: mail })],
    ["an MCP tool", new RemoteTool({ properties: { to: {}, subject: {}, body: {} } })],
  ])("are in the order of %s", (_, tool) => {
    expect(declaredNames(tool)).toEqual(["to", "subject", "body"]);
  });

  it("are the request for an agent as a tool, and none for a tool that declares none", () => {
    expect(declaredNames(new AgentTool({ agent: new LlmAgent({ name: "clerk" }) }))).toEqual(["request"]);
    expect(declaredNames(new FunctionTool({ ...send, execute: () => ({}) }))).toEqual([]);
    for (const odd of [{}, { properties: null }, { properties: true }])
      expect(declaredNames(new RemoteTool(odd))).toEqual([]);
  });
});
