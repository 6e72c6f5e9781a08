import { afterEach, describe, expect, it, vi } from "vitest";
import { DecisionsFirst } from "./decisions-first.ts";

afterEach(() => void vi.useRealTimers());

const turns = async (count: number) => {
  for (let index = 0; index < count; index += 1) await new Promise((resolve) => setImmediate(resolve));
};

function stage(maxWaitMs = 60_000) {
  const first = new DecisionsFirst(maxWaitMs);
  const begun: string[] = [];
  const begin = (owner: string, name: string, signal?: AbortSignal) =>
    first.run(owner, async () => void begun.push(name), signal);
  return { first, begun, begin };
}

describe("while decisions are being recorded", () => {
  it("what follows from others waits, and begins when none is", async () => {
    const { first, begun, begin } = stage();
    void begin("ann", "before");
    expect(begun).toEqual(["before"]);
    const leave = [first.enter(), first.enter()];
    void begin("ann", "after");
    leave[0]?.();
    leave[0]?.();
    await turns(3);
    expect(begun).toEqual(["before"]);
    leave[1]?.();
    await turns(2);
    expect(begun).toEqual(["before", "after"]);
  });

  it("owners take turns, a few in each turn of the event loop, until the next decision comes", async () => {
    const { first, begun, begin } = stage();
    const leave = first.enter();
    for (const name of ["a1", "a2", "a3", "a4", "a5", "a6"]) void begin("ann", name);
    void begin("bob", "b1");
    leave();
    await turns(1);
    const next = first.enter();
    await turns(3);
    expect(begun).toEqual(["a1", "b1", "a2", "a3"]);
    void begin("bob", "b2");
    next();
    await turns(4);
    expect(begun).toEqual(["a1", "b1", "a2", "a3", "a4", "b2", "a5", "a6"]);
  });

  it("nothing waits longer than it may, however many come, and one that hangs counts for a while only", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { first, begun, begin } = stage(2000);
    for (let ms = 0; ms < 2000; ms += 400) {
      first.enter();
      if (ms === 0) void begin("ann", "patient");
      vi.advanceTimersByTime(400);
      await turns(2);
      expect(begun).toEqual(ms < 1600 ? [] : ["patient"]);
    }
    void begin("ann", "next");
    vi.advanceTimersByTime(500);
    await turns(2);
    expect(begun).toEqual(["patient", "next"]);
  });

  it("what follows may wait without a limit", async () => {
    const { first, begun, begin } = stage(Infinity);
    const leave = first.enter();
    void begin("ann", "after");
    const until = performance.now() + 10;
    while (performance.now() < until) await turns(1);
    expect(begun).toEqual([]);
    leave();
    await turns(2);
    expect(begun).toEqual(["after"]);
  });

  it("work that is stopped begins, and sees it", async () => {
    const { first, begun, begin } = stage();
    const leave = first.enter();
    const controller = new AbortController();
    void begin("ann", "stopped", controller.signal);
    void begin("ann", "other");
    controller.abort();
    await turns(1);
    expect(begun).toEqual(["stopped"]);
    void begin("ann", "stopped before", controller.signal);
    leave();
    await turns(2);
    expect(begun).toEqual(["stopped", "stopped before", "other"]);
  });
});
