import { describe, expect, test } from "vitest";
import { Readiness } from "./readiness.ts";
import type { Logger } from "./support/index.ts";

function setUp(check: () => Promise<void>, limitMs = 1000) {
  const clock = { now: 0 };
  const lines: string[] = [];
  let asked = 0;
  const note = (message: string) => void lines.push(message);
  const logger: Logger = { info: note, warn: note, error: note };
  const store = {
    check: () => {
      asked += 1;
      return check();
    },
  };
  const readiness = new Readiness({ store, logger, now: () => clock.now, limitMs });
  return { readiness, clock, lines, asked: () => asked };
}

describe("readiness", () => {
  test("asks the store at most once a second, however many probes come", async () => {
    const { readiness, clock, asked } = setUp(async () => undefined);
    await Promise.all(Array.from({ length: 100 }, () => readiness.check()));
    clock.now = 999;
    await readiness.check();
    expect(asked()).toBe(1);
    clock.now = 1000;
    await readiness.check();
    expect(asked()).toBe(2);
  });

  test("is lost without the store and comes back with it; the reply does not say why, and the log says it once", async () => {
    let isAway = true;
    const { readiness, clock, lines } = setUp(async () => {
      if (isAway) throw new Error("connect ECONNREFUSED db.internal:5432, user admin");
    });
    for (clock.now = 0; clock.now < 5000; clock.now += 1000)
      await expect(readiness.check()).rejects.toMatchObject({
        code: "unavailable",
        message: "The database cannot be reached. Try again in a moment.",
      });
    expect(lines).toEqual(["The store does not answer."]);
    isAway = false;
    await readiness.check();
    expect(lines).toEqual(["The store does not answer.", "The store answers again."]);
  });

  test("does not wait for a store that hangs, and does not ask it again meanwhile", async () => {
    let answer = () => {};
    const { readiness, clock, asked } = setUp(() => new Promise<void>((resolve) => (answer = resolve)), 1);
    for (clock.now = 0; clock.now < 3000; clock.now += 1000)
      await expect(readiness.check()).rejects.toMatchObject({ code: "unavailable" });
    expect(asked()).toBe(1);
    answer();
    await new Promise((resolve) => setImmediate(resolve));
    const asking = readiness.check();
    answer();
    await asking;
    expect(asked()).toBe(2);
  });

  test("ends when the process begins to stop, also for a probe that waits", async () => {
    let answer = () => {};
    const { readiness } = setUp(() => new Promise<void>((resolve) => (answer = resolve)));
    const waiting = readiness.check();
    readiness.stop();
    answer();
    const refusal = { code: "unavailable", message: "The server is stopping. Try again in a moment." };
    await expect(waiting).rejects.toMatchObject(refusal);
    await expect(readiness.check()).rejects.toMatchObject(refusal);
    expect(readiness.stopping.reason).toMatchObject(refusal);
  });

  test("is lost if the store throws at once", async () => {
    const { readiness } = setUp(() => {
      throw new Error("closed");
    });
    await expect(readiness.check()).rejects.toMatchObject({ code: "unavailable" });
  });
});
