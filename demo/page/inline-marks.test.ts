import { expect, test } from "vitest";
import { inlineMarks } from "./inline-marks.ts";

const shown = (text: string) => inlineMarks(text).map(({ kind, text: piece }) => `${kind}:${piece}`);

test("marks bold and code, and leaves the rest unchanged", () => {
  expect(shown("pay **50** to `bob` now")).toEqual(["text:pay ", "strong:50", "text: to ", "code:bob", "text: now"]);
  expect(shown("2 * 3 * 4 ** 5")).toEqual(["text:2 * 3 * 4 ** 5"]);
  expect(shown("<b>not html</b>")).toEqual(["text:<b>not html</b>"]);
  expect(shown("")).toEqual([]);
});

test("shows an unclosed mark as text while it streams", () => {
  expect(shown("so **bol")).toEqual(["text:so **bol"]);
});
