import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { holdBack } from "./hold-back.ts";

const reply = (...texts: string[]): UIMessage => ({
  id: "m",
  role: "assistant",
  parts: texts.map((text) => ({ type: "text", text })),
});

test("a replayed message is shown as it was until it has caught up", () => {
  const held = [reply("one two", "three")];
  expect(holdBack(held, [reply()])).toEqual(held);
  expect(holdBack(held, [reply("one two")])).toEqual(held);
  expect(holdBack(held, [reply("one two", "three")])).toEqual(held);
  expect(holdBack(held, [reply("one two", "three four")])).toEqual([reply("one two", "three four")]);
});

test("messages that were not there before are shown at once, and nothing is copied without need", () => {
  const live = [reply("a"), { ...reply(), id: "n" }];
  expect(holdBack([reply("a")], live)).toBe(live);
});
