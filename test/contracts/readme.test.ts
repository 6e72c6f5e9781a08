import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

describe("the README", () => {
  it("shows an example that is compiled with the tests", () => {
    const [, example] = /```ts\n([\s\S]*?)```/.exec(read("README.md")) ?? [];
    expect(example).toBe(read("test/fixtures/readme-example.ts"));
  });

  it("names only files that exist, in the journey table and elsewhere", () => {
    const links = [...read("README.md").matchAll(/\]\((?!http)([^)#]+)\)/g)].map((match) => match[1]!);
    expect(links.length).toBeGreaterThan(10);
    for (const link of links.filter((path) => !path.endsWith("/"))) expect(() => read(link), link).not.toThrow();
  });
});
