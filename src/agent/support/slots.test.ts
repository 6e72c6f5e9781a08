import { afterEach, describe, expect, it, vi } from "vitest";
import { Slots } from "./slots.ts";

afterEach(() => void vi.useRealTimers());

/** Work that the test ends. */
function work() {
  const begun: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  const run = (name: string) => () =>
    new Promise<string>((resolve, reject) => {
      begun.push(name);
      ends.set(name, (error) => (error ? reject(error) : resolve(name)));
    });
  return { begun, run, end: (name: string, error?: Error) => ends.get(name)?.(error) };
}
const settle = () => new Promise((resolve) => setImmediate(resolve));

describe("Slots", () => {
  it("lets a few run at a time, the others in order, also after one that failed", async () => {
    const slots = new Slots(2, 60_000);
    const { begun, run, end } = work();
    const results = ["a", "b", "c", "d"].map((name) => slots.run(run(name)).catch((error: Error) => error.message));
    expect(begun).toEqual(["a", "b"]);
    end("b", new Error("failed"));
    await settle();
    expect(begun).toEqual(["a", "b", "c"]);
    end("a");
    await settle();
    expect(begun).toEqual(["a", "b", "c", "d"]);
    end("c");
    end("d");
    expect(await Promise.all(results)).toEqual(["a", "failed", "c", "d"]);
    const next = slots.run(run("e"));
    end("e");
    expect(await next).toBe("e");
  });

  it("takes the slot from work that hangs", async () => {
    vi.useFakeTimers();
    const slots = new Slots(1, 1000);
    const { begun, run } = work();
    void slots.run(run("hangs"));
    void slots.run(run("next"));
    await vi.advanceTimersByTimeAsync(999);
    expect(begun).toEqual(["hangs"]);
    await vi.advanceTimersByTimeAsync(1);
    expect(begun).toEqual(["hangs", "next"]);
  });
});
