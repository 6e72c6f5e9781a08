import type { BaseToolset } from "@google/adk";
import { BaseTool, LlmAgent } from "@google/adk";
import { describe, expect, it } from "vitest";
import { findTool, ToolsAway } from "./find-tool.ts";
import { ListedToolset } from "../../../test/fixtures/listed-toolset.ts";

class Tool extends BaseTool {
  constructor(name: string) {
    super({ name, description: "" });
  }
  override async runAsync(): Promise<unknown> {
    return {};
  }
}
const failing = () =>
  new ListedToolset(() => {
    throw new Error("no connection");
  });
const hanging = () => new ListedToolset(() => new Promise(() => undefined));
const having = (...names: string[]) => new ListedToolset(async () => names.map((name) => new Tool(name)));
const agentWith = (...tools: (BaseTool | BaseToolset)[]) => new LlmAgent({ name: "clerk", tools });

describe("a tool", () => {
  it("that the agent lists itself is found, whatever its toolsets do", async () => {
    const pay = new Tool("pay");
    expect(await findTool(agentWith(hanging(), failing(), pay), "pay")).toBe(pay);
  });

  it("of a toolset is found, whatever other toolsets do", async () => {
    const agent = agentWith(hanging(), failing(), having("pay"));
    expect(await findTool(agent, "pay", undefined, 5)).toMatchObject({ name: "pay" });
  });

  it("is not chosen when several toolsets have one of its name", async () => {
    await expect(findTool(agentWith(having("pay"), having("other", "pay")), "pay")).rejects.toThrow(
      "The agent clerk has several tools named pay.",
    );
  });

  it("that no one has is gone", async () => {
    await expect(findTool(agentWith(new Tool("other"), having("another")), "pay")).rejects.toThrow(
      "The agent clerk no longer has a tool named pay.",
    );
    await expect(findTool(agentWith(), "pay")).rejects.toThrow("no longer has");
  });

  it.each([
    ["fails", failing],
    ["does not answer", hanging],
  ])("cannot be looked for while a toolset %s", async (_, away) => {
    const search = findTool(agentWith(having("other"), away()), "pay", undefined, 5);
    await expect(search).rejects.toBeInstanceOf(ToolsAway);
    await expect(search).rejects.toThrow("The tools of the agent clerk cannot be listed now.");
  });
});
