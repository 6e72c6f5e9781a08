import fc from "fast-check";
import { expect, test } from "vitest";
import { fromPostgresText, toPostgresText } from "./postgres-text.ts";

test("any text comes back as it was, and has no character that PostgreSQL refuses", () => {
  const unit = fc.constantFrom("a", "x", "0", "\0", "\ud800", "\udfff", "花", "👩", "\u{10fffe}");
  fc.assert(
    fc.property(fc.array(unit), (units) => {
      const text = units.join("");
      const stored = toPostgresText(text);
      expect(stored).not.toContain("\0");
      expect(stored).not.toMatch(/\p{Surrogate}/u);
      expect(fromPostgresText(stored)).toBe(text);
    }),
  );
});

test("ordinary text is stored as it is", () => {
  expect(toPostgresText("花子 👩‍👩‍👧 \u202e")).toBe("花子 👩‍👩‍👧 \u202e");
});
