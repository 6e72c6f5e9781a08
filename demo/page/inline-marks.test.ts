import { expect, test } from "vitest";
import { inlineMarks } from "./inline-marks.ts";

const shown = (text: string) => inlineMarks(text).map(({ kind, text: piece }) => `${kind}:${piece}`);

test("bold and code are marked, the rest is left alone", () => {
  expect(shown("pay **50** to `bob` now")).toEqual(["text:pay ", "strong:50", "text: to ", "code:bob", "text: now"]);
  expect(shown("2 * 3 * 4 ** 5")).toEqual(["text:2 * 3 * 4 ** 5"]);
  expect(shown("<b>not html</b>")).toEqual(["text:<b>not html</b>"]);
  expect(shown("")).toEqual([]);
});

test("a mark that has not been closed yet stays text while it streams", () => {
  expect(shown("so **bol")).toEqual(["text:so **bol"]);
});
