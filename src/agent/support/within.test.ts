import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { within } from "./within.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const late = () => new Error("late");

describe("within", () => {
  it("is the promise if that settles in time, and leaves no timer", async () => {
    expect(await within(1000, Promise.resolve(1), late)).toBe(1);
    await expect(within(1000, Promise.reject(new Error("broken")), late)).rejects.toThrow("broken");
    expect(vi.getTimerCount()).toBe(0);
  });

  it("rejects when the time is over", async () => {
    const waiting = within(1000, new Promise(() => {}), late);
    const failure = waiting.catch((error: Error) => error.message);
    await vi.advanceTimersByTimeAsync(1000);
    expect(await failure).toBe("late");
  });

  it("waits longer than a timer can", async () => {
    let isOver = false;
    void within(Infinity, new Promise(() => {}), late).catch(() => (isOver = true));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(isOver).toBe(false);
  });
});
