import { expect, test } from "vitest";
import { argumentsOf, type Fields } from "./arguments-of.ts";

const stored = { body: "Hello", note: "x", subject: "Budget", to: "a@b.example" };
const names = (fields: Fields, values: Record<string, unknown> = stored) =>
  argumentsOf(values, fields).map(({ name }) => name);

test("arguments with a field come first, in the order of the fields, then the others", () => {
  expect(names({})).toEqual(["body", "note", "subject", "to"]);
  expect(names({ to: {}, subject: { label: "Subject" }, body: {} })).toEqual(["to", "subject", "body", "note"]);
  expect(names({ cc: {}, to: {} })).toEqual(["to", "body", "note", "subject"]);
});

test("an empty field says only the place: the format is recognised as without a field", () => {
  const values = { amount: 5, at: "2030-01-01T10:00:00Z", currency: "EUR", dryRun: true, text: "a\nb", to: "Hanako" };
  const fields = { to: {}, text: {}, dryRun: {}, at: {}, amount: {}, currency: {} };
  const byName = (entries: ReturnType<typeof argumentsOf>) =>
    new Map(entries.map(({ name, value, field }) => [name, { value, field }]));
  expect(byName(argumentsOf(values, fields))).toEqual(byName(argumentsOf(values, {})));
  expect(argumentsOf(values, fields).map(({ field }) => field.format)).toEqual([
    ...[undefined, "multiline", "boolean", "date", "money", undefined],
  ]);
});

test("a field that says anything is taken as it is", () => {
  const field = { label: "Only a trial" };
  expect(argumentsOf({ dryRun: true }, { dryRun: field })).toEqual([{ name: "dryRun", value: true, field }]);
});
