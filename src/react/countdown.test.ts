import { expect, test } from "vitest";
import { timeLeft } from "./countdown.tsx";

test("the time left is in minutes and seconds, or in hours and minutes", () => {
  expect(timeLeft(61)).toBe("1:01");
  expect(timeLeft(1)).toBe("0:01");
  expect(timeLeft(0)).toBe("0:00");
  expect(timeLeft(2 * 3600 + 60)).toBe("2 h 1 min");
});
