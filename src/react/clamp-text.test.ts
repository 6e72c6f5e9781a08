import fc from "fast-check";
import { expect, test } from "vitest";
import { clampText } from "./clamp-text.ts";

test("leaves a text alone that is short, or only a little too long", () => {
  for (const text of ["", "Hanako", "a".repeat(500), "line\n".repeat(12)]) expect(clampText(text)).toBeUndefined();
});

test("cuts a long text, and one of many lines", () => {
  expect(clampText("a".repeat(6840))).toBe("a".repeat(400));
  expect(clampText("line\n".repeat(100))?.split("\n")).toHaveLength(10);
});

test("keeps both halves of a character together", () => {
  expect(clampText("a".repeat(399) + "\u{1f600}".repeat(400))).toBe("a".repeat(399));
});

test("is always the beginning of the text, and not all of it", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("a", "\n", "\u{1f600}"), maxLength: 1500 }), (text) => {
      const shown = clampText(text);
      if (shown === undefined) return;
      expect(text.startsWith(shown)).toBe(true);
      expect(shown.length).toBeLessThan(text.length);
      expect(shown.length).toBeLessThanOrEqual(400);
    }),
  );
});
