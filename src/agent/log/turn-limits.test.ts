import { expect, test } from "vitest";
import { TurnLimits } from "./turn-limits.ts";

test("a turn may have as many events as its limit says", () => {
  const limits = new TurnLimits(2);
  limits.countEvent();
  limits.countEvent();
  expect(() => limits.countEvent()).toThrow("more than 2 events");
});

test("a turn may ask the model as often as its limit says", () => {
  const limits = new TurnLimits(9);
  expect(limits.countRequest(1)).toBeUndefined();
  expect(limits.countRequest(1)).toBe("The model was asked 1 times and came to no end.");
});
