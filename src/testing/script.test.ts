import { describe, expect, it } from "vitest";
import { findRule, gate, text, type Ask, type Rule } from "./script.ts";

const ask: Ask = {
  text: "What is the weather?",
  fresh: true,
  responses: [],
  contents: [],
  toolNames: [],
  system: "",
  model: "m",
  request: 1,
};
const rule = (when?: Rule["when"]): Rule => ({ ...(when !== undefined && { when }), say: [text("ok")] });

describe("the first rule that fits is found", () => {
  it("by a regular expression on a fresh text", () => {
    const rules = [rule(/payment/), rule(/weather/), rule(/the/)];
    expect(findRule(rules, ask)).toBe(rules[1]);
    expect(findRule(rules, { ...ask, fresh: false })).toBeUndefined();
  });

  it("by a regular expression with state, each time anew", () => {
    const rules = [rule(/weather/g)];
    expect([findRule(rules, ask), findRule(rules, ask)]).toEqual([rules[0], rules[0]]);
  });

  it("by a function that sees the whole request", () => {
    const rules = [rule(({ toolNames }) => toolNames.includes("pay")), rule(({ request }) => request === 1)];
    expect(findRule(rules, { ...ask, fresh: false })).toBe(rules[1]);
  });

  it("without a condition", () => {
    const rules = [rule(/payment/), rule()];
    expect(findRule(rules, { ...ask, text: "", fresh: false })).toBe(rules[1]);
  });
});

it("a gate is closed until it is opened", async () => {
  const { opened, open } = gate();
  const first = await Promise.race([opened, Promise.resolve("closed")]);
  open();
  expect([first, await opened]).toEqual(["closed", undefined]);
});
