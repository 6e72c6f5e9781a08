import { readFileSync } from "node:fs";
import * as testing from "adk-stream-protocol/testing";
import { describe, expect, it } from "vitest";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

describe("docs/testing.md", () => {
  it("shows a test that is run with the tests", () => {
    const [, example] = /```ts\n([\s\S]*?)```/.exec(read("docs/testing.md")) ?? [];
    expect(example).toBe(read("test/contracts/testing-example.test.ts"));
  });

  it("names every export", () => {
    const types = [...read("src/testing/index.ts").matchAll(/\btype ([A-Z]\w+)|\btype \{ ([^}]+) \}/g)].flatMap(
      ([, one, several]) => one ?? several?.split(", ") ?? [],
    );
    const names = [...Object.keys(testing), ...types];
    expect(names).toContain("LiveSettings");
    const documented = read("docs/testing.md");
    expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(documented))).toEqual([]);
  });
});
