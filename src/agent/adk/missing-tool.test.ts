import { type BaseTool, FunctionTool } from "@google/adk";
import type { FunctionCall } from "@google/genai";
import { describe, expect, it } from "vitest";
import { addMissingTools, MissingTool } from "./missing-tool.ts";

const pay = new FunctionTool({ name: "pay", description: "Pays.", execute: () => ({}) });

describe("a tool that does not exist", () => {
  it("has a stand-in, from which the model reads its mistake", async () => {
    const tools: Record<string, BaseTool> = { pay };
    addMissingTools([{ name: "pay" }, { name: "fly" }, {}], tools);
    expect(Object.keys(tools)).toEqual(["pay", "fly"]);
    expect(tools["pay"]).toBe(pay);
    expect(tools["fly"]).toBeInstanceOf(MissingTool);
    expect(await (tools["fly"] as MissingTool).runAsync()).toEqual({ error: "There is no tool named fly." });
  });

  it.each(["constructor", "__proto__", "toString"])("is not taken for a property of every object: %s", (name) => {
    const tools: Record<string, BaseTool> = {};
    addMissingTools([{ name }], tools);
    expect(Object.hasOwn(tools, name)).toBe(true);
    expect(Object.getPrototypeOf(tools)).toBe(Object.prototype);
  });

  it.each(["adk_request_confirmation", "adk_request_credential", "task_completed"])(
    "gets another name if ADK would act on it: %s",
    (name) => {
      const call: FunctionCall = { name };
      const tools: Record<string, BaseTool> = {};
      addMissingTools([call], tools);
      expect(call.name).toBe(`unknown_${name}`);
      expect(Object.keys(tools)).toEqual([`unknown_${name}`]);
    },
  );

  it("keeps such a name if the agent has that tool", () => {
    const call: FunctionCall = { name: "task_completed" };
    addMissingTools([call], { task_completed: pay });
    expect(call.name).toBe("task_completed");
  });
});
