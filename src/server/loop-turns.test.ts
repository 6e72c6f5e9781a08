import { afterEach, expect, it, vi } from "vitest";
import { LoopTurns } from "./loop-turns.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

it("spreads work over turns of the event loop, in order, and forgets nothing", async () => {
  let now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => now);
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const turns = new LoopTurns();
  const done: number[] = [];
  const add = (name: number) =>
    turns.add(() => {
      done.push(name);
      now += 2;
    });
  for (let name = 0; name < 7; name++) add(name);
  expect(done).toEqual([]);
  await turn();
  expect(done).toEqual([0, 1, 2]);
  add(7);
  await turn();
  expect(done).toEqual([0, 1, 2, 3, 4, 5]);
  await turn();
  expect(done).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  await turn();
  add(8);
  await turn();
  expect(done).toContain(8);
});
