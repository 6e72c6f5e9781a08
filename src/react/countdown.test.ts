import { expect, test } from "vitest";
import { timeLeft } from "./countdown.tsx";

test("the time left never goes below zero", () => {
  expect(timeLeft(61_000)).toBe("1:01");
  expect(timeLeft(400)).toBe("0:01");
  expect(timeLeft(-5)).toBe("0:00");
  expect(timeLeft(2 * 3600_000 + 60_000)).toBe("2 h 1 min");
});
