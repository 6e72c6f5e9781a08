import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { loadInTime } from "./load-in-time.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("says nothing about a file that loads at once, and leaves no timer", async () => {
  const print = vi.fn();
  expect(await loadInTime(Promise.resolve("agent"), "agent.ts", print)).toBe("agent");
  await expect(loadInTime(Promise.reject(new Error("broken")), "agent.ts", print)).rejects.toThrow("broken");
  expect(vi.getTimerCount()).toBe(0);
  expect(print).not.toHaveBeenCalled();
});

it("says that a slow file is still loading, and gives up on one that never ends", async () => {
  const print = vi.fn();
  const failed = loadInTime(new Promise<never>(() => undefined), "agent.ts", print).catch(String);
  await vi.advanceTimersByTimeAsync(5000);
  expect(print.mock.calls).toEqual([["agent.ts is still loading …"]]);
  await vi.advanceTimersByTimeAsync(55_000);
  expect(await failed).toContain("agent.ts was still loading after 60 seconds. Something that it awaits");
});
