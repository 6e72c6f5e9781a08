/** A file of more than 300 lines has more than one idea in it, unless it is one table or one switch. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");
const maxLines = 300;

/** Files that may be longer, because each is one table or one switch. */
const longTables: readonly string[] = [];

it(`no file in src has more than ${maxLines} lines, except tables and switches`, () => {
  const files = globSync("src/**/*.{ts,tsx}", { cwd: root }).filter((file) => !/\.test\.tsx?$/.test(file));
  expect(files).toContain("src/index.ts");
  const long = files.filter((file) => readFileSync(join(root, file), "utf8").trimEnd().split("\n").length > maxLines);
  expect(long.toSorted()).toEqual(longTables.toSorted());
});
