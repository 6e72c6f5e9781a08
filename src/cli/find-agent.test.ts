import { App, LlmAgent } from "@google/adk";
import { expect, test } from "vitest";
import { findAgent } from "./find-agent.ts";

const agent = new LlmAgent({ name: "one", model: "gemini-2.5-flash" });
const other = new LlmAgent({ name: "two", model: "gemini-2.5-flash" });
const team = new LlmAgent({ name: "team", model: "gemini-2.5-flash", subAgents: [other] });

test.each<[string, Record<string, unknown>, unknown, string]>([
  ["rootAgent", { rootAgent: agent, other }, agent, "rootAgent"],
  ["agent", { agent, other }, agent, "agent"],
  ["the default export", { default: agent }, agent, "default"],
  ["a function", { default: () => agent }, agent, "default"],
  ["a function that promises one", { rootAgent: async () => agent }, agent, "rootAgent"],
  ["a promise", { agent: Promise.resolve(agent) }, agent, "agent"],
  ["the only agent of any name", { cashier: agent, price: 5 }, agent, "cashier"],
  ["the agent that no other has as a sub-agent", { other, team }, team, "team"],
  ["a function of another name", { createAgent: () => agent, helper: () => 1 }, agent, "createAgent"],
  ["the exports of a CommonJS file", { default: { rootAgent: agent } }, agent, "rootAgent"],
])("finds %s", async (_, exports, expected, name) => {
  const found = await findAgent(exports, "agent.ts");
  expect(found.agent).toBe(expected);
  expect(found.name).toBe(name);
});

test("finds the root agent and the plugins of an App", async () => {
  const app = new App({ name: "shop", rootAgent: agent, plugins: [] });
  expect((await findAgent({ app }, "agent.ts")).agent).toBe(agent);
});

test.each<[string, Record<string, unknown>, string]>([
  ["nothing", {}, "agent.ts exports no agent. Export one as rootAgent, agent or default; the file exports nothing."],
  ["nothing in CommonJS", { default: {}, "module.exports": {} }, "; the file exports nothing."],
  ["other things", { price: 5, Shop: LlmAgent }, "the exports are price, Shop."],
  ["a function that returns nothing", { default: () => undefined }, "the exports are default."],
  ["two agents", { a: agent, b: other }, "agent.ts exports several agents: a, b. Export the one to run as rootAgent."],
])("a file that exports %s is refused with a sentence", async (_, exports, sentence) => {
  await expect(findAgent(exports, "agent.ts")).rejects.toThrow(sentence);
});

test("an error in a function is its own", async () => {
  const fail = () => {
    throw new Error("No database.");
  };
  await expect(findAgent({ default: fail }, "agent.ts")).rejects.toThrow("No database.");
});
