import { expect, test } from "vitest";
import { outputSummary } from "./output-summary.ts";

test("weather is told by its degrees", () => {
  expect(outputSummary({ location: "Tokyo", temperature: 21, condition: "clear" })).toBe("21° clear");
});

test("other results by their plain fields, shortened", () => {
  expect(outputSummary({ track: 2, playing: true, more: {} })).toBe("track 2, playing true");
  expect(outputSummary("x".repeat(100))).toHaveLength(81);
  expect(outputSummary(null)).toBe("null");
});
