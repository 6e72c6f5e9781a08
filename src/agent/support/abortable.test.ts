import { describe, expect, it } from "vitest";
import { abortable, stepThrough } from "./abortable.ts";

const never = new Promise<never>(() => {});

describe("abortable", () => {
  it("is the promise while nobody aborts", async () => {
    const { signal } = new AbortController();
    await expect(abortable(Promise.resolve(1), signal)).resolves.toBe(1);
    await expect(abortable(Promise.reject(new Error("no")), signal)).rejects.toThrow("no");
  });

  it("rejects with the reason as soon as the signal aborts", async () => {
    const controller = new AbortController();
    const waiting = abortable(never, controller.signal);
    controller.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
  });

  it("rejects at once when the signal came first, and the promise may still reject unseen", async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => void unhandled.push(reason);
    process.on("unhandledRejection", note);
    try {
      await expect(
        abortable(Promise.reject(new Error("late")), AbortSignal.abort(new Error("enough"))),
      ).rejects.toThrow("enough");
      await new Promise((resolve) => setImmediate(resolve));
      expect(unhandled).toEqual([]);
    } finally {
      process.off("unhandledRejection", note);
    }
  });
});

describe("stepThrough", () => {
  /** A source that notes what is done to it. */
  function source(steps: readonly (number | Promise<never>)[], seen: string[]): AsyncGenerator<number> {
    async function* generate() {
      try {
        for (const step of steps) {
          seen.push("step");
          yield await step;
        }
      } finally {
        seen.push("returned");
      }
    }
    return generate();
  }
  const settle = () => new Promise((resolve) => setImmediate(resolve));

  it("yields what the source yields", async () => {
    const values: number[] = [];
    for await (const value of stepThrough(source([1, 2], []), new AbortController().signal)) values.push(value);
    expect(values).toEqual([1, 2]);
  });

  it("passes on what the source throws", async () => {
    async function* failing(): AsyncGenerator<number> {
      yield 1;
      throw new Error("broken");
    }
    const steps = stepThrough(failing(), new AbortController().signal);
    await steps.next();
    await expect(steps.next()).rejects.toThrow("broken");
  });

  it("does not wait for a source that hangs after an abort", async () => {
    const controller = new AbortController();
    const steps = stepThrough(source([1, never], []), controller.signal);
    await steps.next();
    const hanging = steps.next();
    controller.abort(new Error("enough"));
    await expect(hanging).rejects.toThrow("enough");
  });

  it("does not take another step from a source once the signal has aborted", async () => {
    const seen: string[] = [];
    const controller = new AbortController();
    const steps = stepThrough(source([1, 2], seen), controller.signal);
    await steps.next();
    controller.abort(new Error("enough"));
    await expect(steps.next()).rejects.toThrow("enough");
    await settle();
    expect(seen).toEqual(["step", "returned"]);
  });

  it("ends the source when its reader breaks off", async () => {
    const seen: string[] = [];
    for await (const value of stepThrough(source([1, 2], seen), new AbortController().signal)) if (value === 1) break;
    await settle();
    expect(seen).toEqual(["step", "returned"]);
  });
});
