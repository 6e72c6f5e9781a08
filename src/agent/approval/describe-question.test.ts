import { expect, test } from "vitest";
import { describeQuestion } from "./describe-question.ts";

test("says nothing if neither the policy nor the tool says anything", () => {
  expect(describeQuestion({})).toEqual({});
});

test("has the hint of the tool", () => {
  expect(describeQuestion({ hint: "Sure?" })).toEqual({ descriptor: { hint: "Sure?" } });
});

test("prefers the hint of the policy to the hint of the tool, in the default language for AI SDK's reason", () => {
  const card = { title: { ja: "送金", en: "Send money" }, hint: { ja: "送ります。", en: "Sends." } };
  expect(describeQuestion({ card, hint: "Sure?" })).toEqual({ descriptor: card, reason: "送ります。" });
});

test("has the hint of the tool, or else the title, if the policy has no hint", () => {
  const card = { title: "Send money", tone: "caution" as const };
  expect(describeQuestion({ card, hint: "Sure?" })).toEqual({
    descriptor: { ...card, hint: "Sure?" },
    reason: "Sure?",
  });
  expect(describeQuestion({ card })).toEqual({ descriptor: card, reason: "Send money" });
  expect(describeQuestion({ card: { icon: "$" } })).toEqual({ descriptor: { icon: "$" } });
});

test("has no reason if the card says nothing but the order of the arguments", () => {
  const card = { fields: { to: {}, body: {} } };
  expect(describeQuestion({ card })).toEqual({ descriptor: card });
  expect(describeQuestion({ card, hint: "Sure?" })).toEqual({ descriptor: { ...card, hint: "Sure?" } });
  const described = { fields: { to: { label: "To" }, body: {} } };
  expect(describeQuestion({ card: described, hint: "Sure?" }).reason).toBe("Sure?");
});
