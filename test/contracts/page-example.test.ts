import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

describe("docs/page.md", () => {
  it("shows a page that is compiled with the tests", () => {
    const [, example] = /```tsx\n([\s\S]*?)```/.exec(read("docs/page.md")) ?? [];
    expect(example).toBe(read("test/fixtures/page-example.tsx"));
  });

  it("shows the runtime for assistant-ui that the browser tests use", () => {
    expect(read("docs/page.md")).toContain(
      `\`\`\`ts\n${read("test/fixtures/assistant-ui/use-bridge-runtime.ts")}\`\`\``,
    );
  });

  it("names only files that exist", () => {
    const links = [...read("docs/page.md").matchAll(/\]\(\.\.\/([^)#]+)\)/g)].map((match) => match[1]!);
    expect(links.length).toBeGreaterThan(0);
    for (const link of links.filter((path) => path.includes("."))) expect(() => read(link), link).not.toThrow();
  });
});
