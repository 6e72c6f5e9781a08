/** docs/design/walk.md leads a reader through the code: its files exist and each is imported by one before it. */
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const root = new URL("../../", import.meta.url);
const sources = new URL("src/", root);

/** The files of each walk, by its heading, in order. */
function walks(): Map<string, string[]> {
  const document = readFileSync(new URL("docs/design/walk.md", root), "utf8");
  const sections = document.split(/^## /m).slice(1);
  return new Map(
    sections.map((section) => [
      section.slice(0, section.indexOf("\n")),
      [...section.matchAll(/^\d+\. \*{0,2}`([^`]+)`/gm)].map(([, file]) => file ?? ""),
    ]),
  );
}

/** The files that a file imports. An index stands for the files it exports from. */
function importsOf(file: string): Set<string> {
  const text = readFileSync(new URL(file, sources), "utf8");
  const base = new URL(file, sources);
  const found = [...text.matchAll(/\bfrom "(\.[^"]+)"/g)].map(([, path]) =>
    new URL(path ?? "", base).href.slice(sources.href.length),
  );
  return new Set(found.flatMap((path) => (path.endsWith("/index.ts") ? [path, ...importsOf(path)] : [path])));
}

const limits: [walk: string, files: number][] = [
  ["One message over SSE", 25],
  ["One message over a live connection", 35],
];

describe.each(limits)("%s", (walk, most) => {
  const files = walks().get(walk) ?? [];

  it(`opens at most ${most} files, each once`, () => {
    expect(files.length).toBeGreaterThan(10);
    expect(files.length).toBeLessThanOrEqual(most);
    expect(new Set(files).size).toBe(files.length);
  });

  it("names files that exist", () => {
    for (const file of files) expect(existsSync(new URL(file, sources)), file).toBe(true);
  });

  it("reaches each file by an import of a file before it", () => {
    const reachable = new Set(files.slice(0, 1));
    for (const file of files) {
      expect([...reachable], file).toContain(file);
      for (const next of importsOf(file)) reachable.add(next);
    }
  });
});
