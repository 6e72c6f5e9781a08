import { join } from "node:path";
import { expect, test } from "vitest";
import { findEntry } from "./find-entry.ts";

const here = join(import.meta.dirname, "find-entry.ts");

test.each([
  ["@google/adk", /@google\/adk\/dist\/esm\/index\.js$/],
  ["@google/adk/a2a", /@google\/adk\/dist\/esm\/a2a\/index\.js$/],
  ["@google/genai", /@google\/genai\/dist\/node\/index\.mjs$/],
])("%s is found in the form that import gives", (specifier, expected) => {
  expect(findEntry(specifier, here)).toMatch(expected);
});

test.each(["@google/none", "@google/adk/none"])("%s is not found", (specifier) => {
  expect(findEntry(specifier, here)).toBeUndefined();
});
