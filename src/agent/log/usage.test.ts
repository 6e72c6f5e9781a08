import { createEvent, type Event } from "@google/adk";
import { FinishReason, type Part } from "@google/genai";
import { describe, expect, it } from "vitest";
import { countUsage, totalUsage, type UsageCounts } from "./usage.ts";

type Fields = Partial<Event>;

const event = (fields: Fields): Event => createEvent({ author: "agent", invocationId: "run-1", ...fields });
const said = (text: string, fields: Fields = {}): Event =>
  event({ content: { role: "model", parts: [{ text }] }, ...fields });
const whole = (text: string, fields: Fields = {}): Event => said(text, { finishReason: FinishReason.STOP, ...fields });
const called = (fields: Fields = {}): Event => {
  const parts: Part[] = [{ functionCall: { id: "c1", name: "a" } }];
  return event({ content: { role: "model", parts }, finishReason: FinishReason.STOP, ...fields });
};
const responded = (fields: Fields = {}): Event =>
  event({ content: { role: "user", parts: [{ functionResponse: { id: "c1", name: "a" } }] }, ...fields });
const count = (promptTokenCount: number, candidatesTokenCount: number) => ({
  usageMetadata: { promptTokenCount, candidatesTokenCount, totalTokenCount: promptTokenCount + candidatesTokenCount },
});

const total = (...events: Event[]) => totalUsage(events.reduce<UsageCounts>(countUsage, new Map()));

describe("the usage of a turn", () => {
  it("has AI SDK's names", () => {
    const usageMetadata = {
      promptTokenCount: 10,
      candidatesTokenCount: 5,
      thoughtsTokenCount: 3,
      cachedContentTokenCount: 4,
      toolUsePromptTokenCount: 2,
      totalTokenCount: 20,
    };
    expect(total(whole("Yes.", { usageMetadata }))).toEqual({
      inputTokens: 12,
      outputTokens: 8,
      totalTokens: 20,
      reasoningTokens: 3,
      cachedInputTokens: 4,
    });
  });

  it("is zero if nothing was counted", () => {
    const none = { inputTokens: 0, outputTokens: 0, totalTokens: 0, reasoningTokens: 0, cachedInputTokens: 0 };
    expect(total()).toEqual(none);
    expect(total(said("Hel", { partial: true }), whole("Hello."))).toEqual(none);
  });

  it("takes the last count of one model call", () => {
    const events = [
      said("A", { partial: true, ...count(10, 1) }),
      said("B", { partial: true, ...count(10, 2) }),
      whole("AB", count(10, 2)),
    ];
    expect(total(...events)).toMatchObject({ inputTokens: 10, outputTokens: 2 });
  });

  it("adds up all model calls", () => {
    const events = [
      called(count(10, 1)),
      responded(),
      event(count(10, 2)),
      said("B", { partial: true, ...count(20, 1) }),
      whole("B", count(20, 3)),
      whole("Again.", count(40, 5)),
    ];
    expect(total(...events)).toMatchObject({ inputTokens: 70, outputTokens: 10, totalTokens: 80 });
  });

  it("begins the next call after a step in which a call was held", () => {
    const held = event({ customMetadata: { kept: [] } });
    expect(total(called({ finishReason: undefined, ...count(10, 1) }), held, said("B", count(20, 1)))).toMatchObject({
      inputTokens: 30,
    });
  });

  it("counts a parent that is counted after its child beside the child", () => {
    const events = [
      called({ author: "parent", ...count(10, 1) }),
      responded({ author: "parent" }),
      whole("I am the child.", { author: "child", ...count(100, 1) }),
      event({ author: "parent", ...count(10, 2) }),
    ];
    expect(total(...events)).toMatchObject({ inputTokens: 110, outputTokens: 3 });
  });

  it.each([
    ["another run", { invocationId: "run-2" }],
    ["another branch", { branch: "left" }],
  ])("counts %s of the same agent separately", (_, fields) => {
    expect(total(said("A", count(10, 1)), said("B", { ...fields, ...count(20, 1) }))).toMatchObject({
      inputTokens: 30,
    });
  });

  it("leaves the counts before an event unchanged", () => {
    const before = countUsage(new Map(), whole("A", count(10, 1)));
    countUsage(before, whole("B", count(20, 1)));
    expect(totalUsage(before)).toMatchObject({ inputTokens: 10 });
  });
});
