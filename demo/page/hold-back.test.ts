import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { holdBack } from "./hold-back.ts";

const reply = (...texts: string[]): UIMessage => ({
  id: "m",
  role: "assistant",
  parts: texts.map((text) => ({ type: "text", text })),
});

test("shows the message as it was until the replay has caught up", () => {
  const held = [reply("one two", "three")];
  expect(holdBack(held, [reply()])).toEqual(held);
  expect(holdBack(held, [reply("one two")])).toEqual(held);
  expect(holdBack(held, [reply("one two", "three")])).toEqual(held);
  expect(holdBack(held, [reply("one two", "three four")])).toEqual([reply("one two", "three four")]);
});

test("shows new messages at once, and returns the same array if nothing changes", () => {
  const received = [reply("a"), { ...reply(), id: "n" }];
  expect(holdBack([reply("a")], received)).toBe(received);
});

test("keeps the card of an approved call when the replay has no question for it", () => {
  const call = { type: "tool-pay" as const, toolCallId: "c", input: {} };
  const asked: UIMessage = {
    ...reply(),
    parts: [{ ...call, state: "output-available", output: 1, approval: { id: "a", approved: true } }],
  };
  const replayed: UIMessage = { ...reply(), parts: [{ ...call, state: "output-available", output: 1 }] };
  expect(holdBack([asked], [replayed])).toEqual([asked]);
  const spoken: UIMessage = { ...replayed, parts: [...replayed.parts, { type: "text", text: "Done." }] };
  expect(holdBack([asked], [spoken])[0]?.parts).toEqual([asked.parts[0], { type: "text", text: "Done." }]);
});
