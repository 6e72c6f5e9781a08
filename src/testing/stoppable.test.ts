import { expect, it } from "vitest";
import { gate } from "./script.ts";
import { createStoppable, stopped } from "./stoppable.ts";

it("waits as long as it is not stopped", async () => {
  const response = createStoppable(() => undefined);
  expect(await response.unlessStopped(Promise.resolve(7))).toBe(7);
});

it("ends a wait when it is stopped, and says how", async () => {
  const ends: string[] = [];
  const response = createStoppable((end) => ends.push(end));
  const waiting = response.unlessStopped(new Promise(() => undefined));
  response.stop("interrupted");
  await expect(waiting).rejects.toBe(stopped);
  expect(ends).toEqual(["interrupted"]);
});

it("ends a wait that was over just before the stop", async () => {
  const response = createStoppable(() => undefined);
  const { opened, open } = gate();
  const waiting = response.unlessStopped(opened);
  open();
  response.stop("interrupted");
  await expect(waiting).rejects.toBe(stopped);
});
