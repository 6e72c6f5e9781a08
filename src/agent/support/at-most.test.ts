import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { atMost } from "./at-most.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("atMost", () => {
  it("waits for the promise and leaves no timer", async () => {
    await atMost(1000, Promise.resolve());
    expect(vi.getTimerCount()).toBe(0);
  });

  it("gives up after its time", async () => {
    let isOver = false;
    void atMost(1000, new Promise(() => {})).then(() => (isOver = true));
    await vi.advanceTimersByTimeAsync(999);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(isOver).toBe(true);
  });

  it("fails as the promise fails, and leaves no timer", async () => {
    await expect(atMost(1000, Promise.reject(new Error("broken")))).rejects.toThrow("broken");
    expect(vi.getTimerCount()).toBe(0);
  });
});
