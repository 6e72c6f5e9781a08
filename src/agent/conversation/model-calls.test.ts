import { describe, expect, it } from "vitest";
import { ModelCalls } from "./model-calls.ts";

function newCalls(limits: { all?: number; own?: number }) {
  const clock = { now: 0 };
  const calls = new ModelCalls({
    modelCallsPerMinute: limits.all ?? Infinity,
    modelCallsPerMinutePerOwner: limits.own ?? Infinity,
    now: () => clock.now,
  });
  return { clock, calls };
}

describe("model calls per minute", () => {
  it("are limited per owner, and the owner is told when to try again", () => {
    const { calls, clock } = newCalls({ own: 2 });
    expect([calls.take("alice"), calls.take("alice")]).toEqual([undefined, undefined]);
    clock.now = 20_500;
    const sentence = "The limit of 2 model calls per minute and owner is reached. Try again in 40 seconds.";
    expect(calls.take("alice")).toBe(sentence);
    expect(() => calls.check("alice")).toThrow(
      expect.objectContaining({ code: "too_many", retryAfter: 40, message: sentence }),
    );
    expect(calls.take("bob")).toBeUndefined();
    clock.now = 60_000;
    expect(calls.take("alice")).toBeUndefined();
  });

  it("are limited in all", () => {
    const { calls, clock } = newCalls({ all: 2 });
    calls.take("alice");
    calls.take("bob");
    expect(() => calls.check("carol")).toThrow(expect.objectContaining({ code: "unavailable", retryAfter: 60 }));
    clock.now = 60_000;
    expect(() => calls.check("carol")).not.toThrow();
  });

  it("are not limited unless limits are given", () => {
    const { calls } = newCalls({});
    for (let count = 0; count < 10_000; count++) expect(calls.take("alice")).toBeUndefined();
  });
});
