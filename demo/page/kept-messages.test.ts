import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { keptMessages } from "./kept-messages.ts";

const message = (id: string): UIMessage => ({ id, role: "user", parts: [{ type: "text", text: id }] });
const [a, b, c] = [message("a"), message("b"), message("c")];

test("keeps what could not be sent until the chat has it", () => {
  expect(keptMessages([], [a, b], ["b"])).toEqual([b]);
  expect(keptMessages([b], [a, b], [])).toEqual([]);
});

test("keeps what another load of the page could not send, also after other messages", () => {
  expect(keptMessages([b], [a, c], ["c"])).toEqual([b, c]);
});

test("is the same list if nothing has changed", () => {
  const kept = [b];
  expect(keptMessages(kept, [a, b], ["b"])).toBe(kept);
  expect(keptMessages(kept, [], [])).toBe(kept);
});
