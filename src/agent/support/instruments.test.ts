import { describe, expect, test } from "vitest";
import { installMeter } from "../../../test/fixtures/measured.ts";
import { counter, duration, isMeasured, level, reading } from "./instruments.ts";

const named = (name: string) => ({ name: `test.${name}`, description: "A test." });

describe("instruments", () => {
  test("measure nothing without a provider, and everything from the moment in which there is one", async () => {
    const turns = counter(named("turns"));
    const times = duration(named("times"));
    const open = level(named("open"));
    turns.add(1);
    times.record(5);
    open.add(3);
    expect(isMeasured()).toBe(false);

    const { read } = installMeter();
    expect(isMeasured()).toBe(true);
    turns.add(2, { mode: "live" });
    times.record(5);
    open.add(-1);
    const measured = await read();
    expect(measured.get("test.turns")).toEqual([{ attributes: { mode: "live" }, value: 2 }]);
    expect(measured.get("test.times")).toEqual([{ attributes: {}, value: 1 }]);
    // What was there before the provider is there now too.
    expect(measured.get("test.open")).toEqual([{ attributes: {}, value: 2 }]);
  });

  test("read a source when they are collected: once if it is given twice, not at all after it was ended", async () => {
    const open = reading({ ...named("read"), attribute: "state" });
    const store = {};
    let reads = 0;
    const count = async () => ({ pending: (reads += 1), waiting: 0 });
    const { read } = installMeter();
    const ends = [open.observe(store, count), open.observe(store, count)];
    open.observe({}, () => Promise.reject(new Error("away")));
    expect((await read()).get("test.read")).toEqual([
      { attributes: { state: "pending" }, value: 1 },
      { attributes: { state: "waiting" }, value: 0 },
    ]);
    for (const end of ends) end();
    await read();
    expect(reads).toBe(1);
  });
});
