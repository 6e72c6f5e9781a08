import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { hasSomethingToSee } from "./has-something-to-see.ts";

const outcome = { type: "data-approval", id: "a", data: { state: "succeeded" } } as const;
const step = { type: "step-start" } as const;
const words = (text: string) => ({ type: "text", text }) as const;
const call = { type: "tool-pay", toolCallId: "c", state: "input-available", input: {} } as const;

test.each<[string, UIMessage["parts"], boolean]>([
  ["an outcome that belongs to another message's card", [outcome], false],
  ["a step that has not begun to speak", [step, outcome, words("")], false],
  ["nothing at all", [], false],
  ["an outcome the model speaks of", [outcome, step, words("Paid.")], true],
  ["a call", [step, call], true],
  ["a picture", [{ type: "file", url: "data:image/png;base64,", mediaType: "image/png" }], true],
])("%s", (_name, parts, seen) => {
  expect(hasSomethingToSee({ parts })).toBe(seen);
});

test("a reply that failed before its first word says so", () => {
  expect(hasSomethingToSee({ parts: [], metadata: { error: "No." } })).toBe(true);
  expect(hasSomethingToSee({ parts: [], metadata: { usage: {} } })).toBe(false);
});
