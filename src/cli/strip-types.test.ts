import process from "node:process";
import { expect, test } from "vitest";
import { stripTypes } from "./strip-types.ts";

test("types become spaces, so that lines and columns stay", () => {
  expect(stripTypes("const a: number = 1;\nexport { a };", "/a.ts")).toMatch(/^const a {9}= 1;\nexport \{ a \};/);
});

test("an error says the file and the line", () => {
  expect(() => stripTypes("const a: number = 1;\nconst b = ;\n", "/a.ts")).toThrow("/a.ts:2: Expression expected.");
});

test("enums and parameter properties work where Node can write them, and otherwise get a sentence", () => {
  const source = 'export enum Level { Low = "low" }\nexport class A { constructor(readonly n: number) {} }';
  if (Number(process.versions.node.split(".")[0]) < 26) expect(stripTypes(source, "/a.ts")).toMatch(/this\.n = n/);
  else expect(() => stripTypes(source, "/a.ts")).toThrow("/a.ts:1: TypeScript enum is not supported");
});

test("JSX is refused", () => {
  expect(() => stripTypes("<p />", "/a.tsx")).toThrow("/a.tsx has JSX.");
});
