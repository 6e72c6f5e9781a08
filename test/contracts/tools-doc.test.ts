import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

describe("docs/tools.md", () => {
  it("shows examples that are compiled and run with the tests", () => {
    const blocks = [...read("docs/tools.md").matchAll(/```ts\n([\s\S]*?)```/g)].map(([, block = ""]) => block);
    expect(blocks.length).toBeGreaterThan(0);
    const examples = read("test/contracts/tools-example.test.ts");
    for (const block of blocks) expect(examples).toContain(block);
  });

  it("names only files that exist", () => {
    const links = [...read("docs/tools.md").matchAll(/\]\((?!https?:)([^)#]+)\)/g)].map(([, link = ""]) => link);
    expect(links.length).toBeGreaterThan(0);
    for (const link of links) expect(() => read(`docs/${link}`), link).not.toThrow();
  });
});
