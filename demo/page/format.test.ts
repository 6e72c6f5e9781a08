import { expect, test } from "vitest";
import { callSummary, money } from "./format.ts";

test("money is shown with every digit of its amount", () => {
  expect(money(40, "USD", "en")).toBe("$40.00");
  expect(money(40.005, "USD", "en")).toBe("$40.005");
  expect(money(0.1 + 0.2, "USD", "en")).toBe("$0.30000000000000004");
  expect(money(1234567, "USD", "en")).toBe("$1,234,567.00");
});

test("currencies with the same sign look different", () => {
  expect(money(1, "AUD", "en")).not.toBe(money(1, "USD", "en"));
});

test("values that are not an amount and a currency are not formatted", () => {
  expect(money("40", "USD", "en")).toBeUndefined();
  expect(money(40, "dollars", "en")).toBeUndefined();
  expect(money(40, "USD\u202e", "en")).toBeUndefined();
  expect(money(Number.POSITIVE_INFINITY, "USD", "en")).toBeUndefined();
});

test("a call is summed up by its most important argument", () => {
  expect(callSummary({ amount: 30, recipient: "Alice" })).toBe("Alice");
  expect(callSummary({ location: "Tokyo" })).toBe("Tokyo");
  expect(callSummary({})).toBe("");
  expect(callSummary(undefined)).toBe("");
});
