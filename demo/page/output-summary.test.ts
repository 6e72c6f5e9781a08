import { expect, test } from "vitest";
import { outputSummary } from "./output-summary.ts";

test("sums up the weather as temperature and sky", () => {
  expect(outputSummary({ location: "Tokyo", temperature: 21, condition: "clear" })).toBe("21° clear");
});

test("sums up other results as their simple fields, shortened", () => {
  expect(outputSummary({ track: 2, playing: true, more: {} })).toBe("track 2, playing true");
  expect(outputSummary("x".repeat(100))).toHaveLength(81);
  expect(outputSummary(null)).toBe("null");
});

test("sums up a large output as the beginning of its text", () => {
  const large = { preview: '{\n  "rows": [1,', size: 400_000, url: `/files/${"a".repeat(32)}` };
  expect(outputSummary(large)).toBe('{ "rows": [1,');
});
