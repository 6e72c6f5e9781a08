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
  expect(holdBack(held, [reply()], true)).toEqual(held);
  expect(holdBack(held, [reply("one two")], true)).toEqual(held);
  expect(holdBack(held, [reply("one two", "three")], true)).toEqual(held);
  expect(holdBack(held, [reply("one two", "three four")], true)).toEqual([reply("one two", "three four")]);
});

test("shows new messages at once, and returns the same array if nothing changes", () => {
  const received = [reply("a"), { ...reply(), id: "n" }];
  expect(holdBack([reply("a")], received, true)).toBe(received);
});

test("keeps the card of an approved call when the replay has no question for it", () => {
  const call = { type: "tool-pay" as const, toolCallId: "c", input: {} };
  const asked: UIMessage = {
    ...reply(),
    parts: [{ ...call, state: "output-available", output: 1, approval: { id: "a", approved: true } }],
  };
  const replayed: UIMessage = { ...reply(), parts: [{ ...call, state: "output-available", output: 1 }] };
  expect(holdBack([asked], [replayed], true)).toEqual([asked]);
  const spoken: UIMessage = { ...replayed, parts: [...replayed.parts, { type: "text", text: "Done." }] };
  expect(holdBack([asked], [spoken], true)[0]?.parts).toEqual([asked.parts[0], { type: "text", text: "Done." }]);
});

test("keeps the card after the replay has ended, until the server's messages are read", () => {
  const call = { type: "tool-pay" as const, toolCallId: "c", input: {} };
  const approval = { id: "a", approved: false as const };
  const asked: UIMessage = { ...reply("one"), parts: [{ ...call, state: "approval-responded", approval }] };
  const replayed: UIMessage = { ...reply(), parts: [{ ...call, state: "output-error", errorText: "No." }] };
  expect(holdBack([asked], [replayed], false)[0]?.parts).toEqual([{ ...replayed.parts[0], approval }]);
});

test("a shorter message is shown at once when nothing is replayed", () => {
  expect(holdBack([reply("one two")], [reply("one")], false)).toEqual([reply("one")]);
});
