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
