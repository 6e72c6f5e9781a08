import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const page = read("docs/mounting.md");

describe("docs/mounting.md", () => {
  const files = globSync(["examples/*.ts", "examples/*/server.ts", "examples/next/*.ts", "examples/next/**/route.ts"], {
    cwd: root,
  });

  it.each(files)("shows %s as it is", (file) => {
    expect(page).toContain(`\`\`\`ts\n${read(file)}\`\`\``);
  });

  it.each(["page", "chat"])("shows the %s of the Next.js example as it is", (name) => {
    expect(page).toContain(`\`\`\`tsx\n${read(`examples/next/app/${name}.tsx`)}\`\`\``);
  });

  it("has an example for each framework", () => {
    const names = files.filter((file) => file.endsWith("/server.ts")).map((file) => file.split("/")[1]);
    expect(new Set(names)).toEqual(new Set(["express", "fastify", "hono", "next", "node-http"]));
  });

  it("names only files that exist", () => {
    const links = [...page.matchAll(/\]\(<?(\.\.\/)?([^)#>:]+\.\w+)>?\)/g)];
    expect(links.length).toBeGreaterThan(5);
    for (const [, up, path = ""] of links) expect(() => read(up ? path : `docs/${path}`), path).not.toThrow();
  });
});
