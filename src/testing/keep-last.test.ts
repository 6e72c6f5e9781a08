import { expect, it } from "vitest";
import { keepLast } from "./keep-last.ts";

it("a list keeps its last entries, in order", () => {
  const list: number[] = [];
  for (const entry of [1, 2, 3, 4, 5]) keepLast(list, entry, 3);
  expect(list).toEqual([3, 4, 5]);
});
