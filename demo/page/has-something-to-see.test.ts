import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { hasSomethingToSee } from "./has-something-to-see.ts";

const outcome = { type: "data-approval", id: "a", data: { state: "succeeded" } } as const;
const step = { type: "step-start" } as const;
const textPart = (text: string) => ({ type: "text", text }) as const;
const call = { type: "tool-pay", toolCallId: "c", state: "input-available", input: {} } as const;

test.each<[string, UIMessage["parts"], boolean]>([
  ["only an outcome for a card in another message", [outcome], false],
  ["an outcome and an empty text", [step, outcome, textPart("")], false],
  ["no parts", [], false],
  ["an outcome and text about it", [outcome, step, textPart("Paid.")], true],
  ["a call", [step, call], true],
  ["a picture", [{ type: "file", url: "data:image/png;base64,", mediaType: "image/png" }], true],
])("knows whether a reply with %s has something to see", (_name, parts, seen) => {
  expect(hasSomethingToSee({ parts })).toBe(seen);
});

test("a reply that failed before its first word has its error to show", () => {
  expect(hasSomethingToSee({ parts: [], metadata: { error: "No." } })).toBe(true);
  expect(hasSomethingToSee({ parts: [], metadata: { usage: {} } })).toBe(false);
});
