import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Silence } from "./silence.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const never = new Promise<never>(() => {});

describe("Silence", () => {
  it("passes on what comes in time, or fails in time", async () => {
    const silence = new Silence();
    await expect(silence.limit(Promise.resolve("word"), 1000)).resolves.toBe("word");
    await expect(silence.limit(Promise.reject(new Error("broken")), 1000)).rejects.toThrow("broken");
  });

  it("reports silence when nothing comes in time", async () => {
    const waiting = new Silence().limit(never, 1000);
    await vi.advanceTimersByTimeAsync(999);
    const settled = vi.fn<(value: string) => void>();
    void waiting.then(settled);
    await vi.advanceTimersByTimeAsync(0);
    expect(settled).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(settled).toHaveBeenCalledWith("silence");
  });

  it("measures each wait from its own beginning, with one timer for all", async () => {
    const silence = new Silence();
    for (let piece = 0; piece < 3; piece++) {
      await silence.limit(Promise.resolve(piece), 1000);
      await vi.advanceTimersByTimeAsync(900);
    }
    expect(vi.getTimerCount()).toBe(1);
    const waiting = silence.limit(never, 1000);
    await vi.advanceTimersByTimeAsync(999);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    await expect(waiting).resolves.toBe("silence");
  });

  it("takes another limit for another wait", async () => {
    const silence = new Silence();
    await silence.limit(Promise.resolve(), 5000);
    const waiting = silence.limit(never, 100);
    await vi.advanceTimersByTimeAsync(100);
    await expect(waiting).resolves.toBe("silence");
    const longer = silence.limit(never, 5000);
    await vi.advanceTimersByTimeAsync(5000);
    await expect(longer).resolves.toBe("silence");
  });

  it("can be waited for again after a silence", async () => {
    const silence = new Silence();
    for (let round = 0; round < 2; round++) {
      const waiting = silence.limit(never, 1000);
      await vi.advanceTimersByTimeAsync(1000);
      await expect(waiting).resolves.toBe("silence");
    }
  });

  it("sets no timer without a limit", async () => {
    await expect(new Silence().limit(Promise.resolve("word"), undefined)).resolves.toBe("word");
    expect(vi.getTimerCount()).toBe(0);
  });

  it("has no timer left after a stop", async () => {
    const silence = new Silence();
    await silence.limit(Promise.resolve(), 1000);
    silence.stop();
    silence.stop();
    expect(vi.getTimerCount()).toBe(0);
  });
});
