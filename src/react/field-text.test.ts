import type { CardField } from "../protocol/card.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fieldText } from "./field-text.ts";

const inDollars: CardField = { format: "money", currency: "USD" };

test.each<[unknown, CardField, string | undefined]>([
  [50, inDollars, "$50.00"],
  [0.123, inDollars, "$0.123"],
  [50, { format: "money", currency: "JPY" }, "¥50"],
  [50, { format: "money" }, undefined],
  ["50", inDollars, undefined],
  [Number.NaN, inDollars, undefined],
  [1234.5, { format: "number" }, "1,234.5"],
  ["1234.5", { format: "number" }, undefined],
  ["2026-11-16", { format: "date" }, "16 November 2026"],
  ["2026-02-30", { format: "date" }, undefined],
  ["tomorrow", { format: "date" }, undefined],
  ["2026-11-16T10:00", { format: "date" }, undefined],
  [1_800_000_000_000, { format: "date" }, undefined],
  ["x", { format: "text" }, undefined],
  ["x", {}, undefined],
])("%j in the format %j is %j", (value, field, text) => {
  expect(fieldText(value, field, "en")?.text).toBe(text);
});

test("is written in the language of the page", () => {
  expect(fieldText("2026-11-16", { format: "date" }, "ja")?.text).toBe("2026年11月16日");
  expect(fieldText(50, { format: "money", currency: "JPY" }, "ja")?.text).toBe("￥50");
});

describe("a date", () => {
  test("comes with the value that is sent, because the time of day depends on the browser's zone", () => {
    const value = "2026-11-16T10:00:00Z";
    expect(fieldText(value, { format: "date" }, "en")).toEqual({ text: expect.stringMatching(/2026/), exact: value });
  });
});

test("shows every digit of any number, or the number as it is sent", () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      for (const field of [inDollars, { format: "number" } as const]) {
        const text = fieldText(value, field, "en")?.text;
        if (text !== undefined) expect(Number(text.replaceAll(/[^\d.]/g, ""))).toBe(Math.abs(value));
        else expect(Math.abs(value)).toBeLessThan(1);
      }
    }),
  );
  expect(fieldText(1e-25, inDollars, "en")).toBeUndefined();
});
