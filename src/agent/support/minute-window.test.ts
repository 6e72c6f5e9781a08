import { expect, test } from "vitest";
import { MinuteWindow } from "./minute-window.ts";

test("allows so many in any 60 seconds", () => {
  const window = new MinuteWindow(2);
  window.add(0);
  expect(window.waitMs(50_000)).toBe(0);
  window.add(50_000);
  expect(window.waitMs(50_000)).toBe(10_000);
  expect(window.waitMs(59_999)).toBe(1);
  expect(window.waitMs(60_000)).toBe(0);
  window.add(60_000);
  expect(window.waitMs(60_000)).toBe(50_000);
});

test("is empty when the last event is 60 seconds old", () => {
  const window = new MinuteWindow(2);
  expect(window.isEmpty(0)).toBe(true);
  window.add(0);
  expect([window.isEmpty(59_999), window.isEmpty(60_000)]).toEqual([false, true]);
});

test("does not stay closed after the clock was set back", () => {
  const window = new MinuteWindow(1);
  window.add(1_000_000);
  expect(window.waitMs(5000)).toBe(0);
});
