import { expect, test } from "vitest";
import { retryDelay } from "./retries.ts";

test("doubles with each failure, up to ten seconds", () => {
  const delays = [0, 1, 2, 3, 4, 5, 6, 7, 1_000].map((failures) => retryDelay(failures, () => 1));
  expect(delays).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 10_000]);
});

test("is at least half of that, by chance", () => {
  expect(retryDelay(0, () => 0)).toBe(125);
  expect(retryDelay(2, () => 0.5)).toBe(750);
});
