import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

describe("docs/page.md", () => {
  it.each(["page-example.tsx", "stock-page-example.tsx", "agent-example.ts"])(
    "shows %s, which is compiled with the tests",
    (name) => {
      const language = name.endsWith("tsx") ? "tsx" : "ts";
      expect(read("docs/page.md")).toContain(`\`\`\`${language}\n${read(`test/fixtures/${name}`)}\`\`\``);
    },
  );

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
