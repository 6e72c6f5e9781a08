import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadErrorSentence } from "./load-error.ts";
import { TypeScriptError } from "./strip-types.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "load-error-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** The sentence about a file with this content. Node itself makes the error. */
async function sentenceFor(name: string, content: string): Promise<string> {
  const file = join(folder, name);
  writeFileSync(file, content);
  const { nativeImport } = (await import(
    `data:text/javascript,${encodeURIComponent("export const nativeImport = (url) => import(url)")}`
  )) as { nativeImport: (url: string) => Promise<unknown> };
  return nativeImport(`${pathToFileURL(file).href}?load=3`).then(
    () => "loaded",
    (error: unknown) => loadErrorSentence(error, folder),
  );
}

test("a package that is missing", async () => {
  expect(await sentenceFor("a.mjs", 'import "@no/such/part";')).toBe(
    "a.mjs imports @no/such, which is not installed. Run npm install @no/such.",
  );
});

test("a file that is missing", async () => {
  expect(await sentenceFor("b.mjs", 'import "./gone.mjs";')).toBe("b.mjs imports gone.mjs, which does not exist.");
});

test("an error that the file throws, with its line", async () => {
  expect(await sentenceFor("c.mjs", '\n\nthrow new Error("No database");')).toBe("c.mjs:3: No database.");
});

test("something else that the file throws", async () => {
  expect(await sentenceFor("d.mjs", "throw 5;")).toBe("5.");
});

test("a package that a CommonJS file requires and is missing", async () => {
  expect(await sentenceFor("e.cjs", 'require("@no/such/part");')).toBe(
    "e.cjs requires @no/such/part, which is not installed. Run npm install @no/such.",
  );
  expect(await sentenceFor("f.cjs", 'require("./gone.cjs");')).toBe("f.cjs requires ./gone.cjs, which does not exist.");
});

test("an import of a type", () => {
  const error = new SyntaxError("The requested module '@google/adk' does not provide an export named 'Config'");
  error.stack = `file://${folder}/agent.ts?load=1:4\nimport { Config } from "@google/adk";\n${error.message}`;
  expect(loadErrorSentence(error, folder)).toBe(
    "agent.ts:4: The requested module '@google/adk' does not provide an export named 'Config'. If Config is a type, write: import type { Config }.",
  );
});

test("TypeScript that cannot be read", () => {
  expect(loadErrorSentence(new TypeScriptError(`${folder}/agent.ts:2: Expression expected.`), folder)).toBe(
    "agent.ts:2: Expression expected.",
  );
});
