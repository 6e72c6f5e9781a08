import type { CardField } from "../protocol/card.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { callWords } from "./call-words.ts";

const payment: Record<string, CardField> = {
  amount: { format: "money", currency: "USD" },
  recipient: {},
  currency: { format: "code" },
};

/** What the server says about the order of the arguments. */
const mail: Record<string, CardField> = { to: {}, subject: {}, body: {} };

const letter: Record<string, CardField> = { body: { format: "multiline" } };

test.each<[unknown, Record<string, CardField> | undefined, string]>([
  [{ recipient: "Hanako", amount: 50, currency: "USD" }, payment, "$50.00 → Hanako"],
  [{ amount: 50, currency: "USD" }, payment, "$50.00"],
  [{ recipient: "Hanako", amount: "50", currency: "USD" }, payment, "50 → Hanako"],
  [{ body: "Hello", subject: "Budget", to: "a@b.example" }, mail, "a@b.example · Budget"],
  [{ body: "Hello\n", to: ["a@b.example"] }, mail, "a@b.example"],
  [{ amount: 50, currency: "USD", recipient: "Hanako" }, { recipient: {}, amount: {} }, "$50.00 → Hanako"],
  [{ service: "shop", environment: "production", replicas: 3 }, undefined, "shop · production"],
  [{ command: "rm -rf /\nexit" }, undefined, "rm -rf / \\n exit"],
  [{ to: ["a@b.example"], subject: "Budget", body: "Hello,\n\nBest regards" }, undefined, "a@b.example · Budget"],
  [{ to: ["a@b.example", "c@d.example"], body: "One line" }, letter, "a@b.example, c@d.example"],
  [{ to: [], mixed: ["a", 1], body: "One line" }, letter, "One line"],
  [{ nested: { a: 1 }, list: [1], force: true }, undefined, "true"],
  [{ dryRun: false, serial: "X1" }, undefined, "X1"],
  [{ recipient: "", amount: 5, currency: "USD" }, payment, "$5.00"],
  [{ recipient: "Ha\u200bna" }, undefined, "Ha U+200B na"],
  [{ recipient: "أحمد", amount: 1, currency: "USD" }, payment, "$1.00 → \u2068أحمد\u2069"],
  [{ to: "\u0440\u0430ypal.com", amount: 1, currency: "USD" }, payment, "$1.00 → \u0440\u0430ypal.com ⚠"],
  [{ to: "\u0455\u0441\u043E\u0440\u0435" }, undefined, "\u0455\u0441\u043E\u0440\u0435 ⚠"],
  [{ to: "田中 Hanako" }, undefined, "田中 Hanako"],
  [{ nested: {} }, undefined, ""],
  [{}, payment, ""],
  [undefined, payment, ""],
  [["a"], undefined, ""],
  ["a", undefined, ""],
])("%j is %j %s", (input, fields, words) => {
  expect(callWords(input, fields, "en")).toBe(words);
});

test("says with an ellipsis that a value is longer", () => {
  expect(callWords({ to: "a".repeat(40) }, undefined, "en")).toBe("a".repeat(40));
  expect(callWords({ to: "a".repeat(41) }, undefined, "en")).toBe(`${"a".repeat(40)}…`);
  expect(callWords({ to: `${"a".repeat(39)}\u{1f600}\u{1f600}` }, undefined, "en")).toBe(`${"a".repeat(39)}\u{1f600}…`);
});

test("is short and shows every hidden character, whatever the arguments are", () => {
  const unit = fc.constantFrom("a", " ", "\n", "\u200b", "\u202e", "\u0000", "\u{1f600}", "أ");
  fc.assert(
    fc.property(fc.dictionary(fc.string({ maxLength: 3 }), fc.string({ unit, maxLength: 60 })), (input) => {
      const words = callWords(input, undefined, "en");
      expect(words.length).toBeLessThan(800);
      expect(words).not.toMatch(/[\p{Control}\u202a-\u202e\u200b]/u);
    }),
  );
});
