import { expect, test } from "vitest";
import { quote } from "./quote.ts";

test.each([
  ["yes", '"yes"'],
  [{ a: [1, null] }, '{"a":[1,null]}'],
  [undefined, "undefined"],
])("quotes %j as JSON", (value, quoted) => {
  expect(quote(value)).toBe(quoted);
});

test("cuts a long value", () => {
  expect(quote("x".repeat(62))).toBe(`"${"x".repeat(62)}"`);
  expect(quote("x".repeat(63))).toBe(`"${"x".repeat(62)}…`);
  expect(quote("x".repeat(1_000_000))).toHaveLength(64);
});
