/** Scripts of package.json that other files start or name must exist: some files, such as those of `bench`, no test runs. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: Record<string, string> };
const patterns = [/npm run (?:-s |--silent )?([a-z][\w:-]*)/g, /"run",\s*"-s",\s*"([\w:-]+)"/g];

test("every script that a file names exists", () => {
  const files = globSync(["bench/*.ts", "scripts/**/*.{ts,mjs}", "test/**/*.ts", "CONTRIBUTING.md"], { cwd: root });
  expect(files.length).toBeGreaterThan(100);
  const missing = files.flatMap((file) => {
    const text = readFileSync(join(root, file), "utf8");
    const named = patterns.flatMap((pattern) => [...text.matchAll(pattern)].map(([, name = ""]) => name));
    return named.filter((name) => !(name in scripts)).map((name) => `${file}: ${name}`);
  });
  expect(missing).toEqual([]);
});
