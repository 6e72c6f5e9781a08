/** Links between documents, and from documents to files of the project. */
import { existsSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";
import { readNavigation } from "../../scripts/docs/navigation.ts";
import { createSlugs } from "../../scripts/docs/slugs.ts";
import { documents, proseOf, readProjectFile, root } from "../fixtures/documents.ts";

/** The anchors of a document's headings, as GitHub and the site make them. */
function anchorsOf(path: string): Set<string> {
  const slugOf = createSlugs();
  const text = readProjectFile(path).replaceAll(/^```[\s\S]*?^```$/gm, "");
  const headings = [...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = ""]) => heading.replaceAll("`", ""));
  return new Set(headings.map((heading) => slugOf(heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1"))));
}

function linksOf(path: string): string[] {
  return [...proseOf(path).matchAll(/\]\((?![a-z]+:)([^)\s]+)\)/g)].map(([, link = ""]) => link);
}

describe("the documents", () => {
  it.each(documents())("%s links to files and headings that exist", (path) => {
    for (const link of linksOf(path)) {
      const [file = "", anchor] = link.split("#");
      const target = file === "" ? path : normalize(join(dirname(path), file));
      expect(existsSync(join(root, target)), `${path} links to ${link}`).toBe(true);
      if (anchor !== undefined) expect([...anchorsOf(target)], `${path} links to ${link}`).toContain(anchor);
    }
  });

  it.each(documents())("%s names sections of other documents by links, which cannot become wrong unseen", (path) => {
    expect(proseOf(path)).not.toMatch(/\.md\),? sections? \d/);
  });

  it("are all in the navigation of the site, once", () => {
    const listed = readNavigation(root).flatMap(({ files }) => files);
    expect(listed.toSorted()).toEqual(documents());
  });

  it("name every setting of the demo in docs/demo.md", () => {
    const settings = [...readProjectFile("demo/server/settings.ts").matchAll(/env\["(\w+)"\]/g)];
    expect(settings.length).toBeGreaterThan(10);
    const rows = readProjectFile("docs/demo.md")
      .split("\n")
      .filter((line) => line.startsWith("| `"));
    for (const [, name = ""] of settings) expect(rows.join("\n"), name).toContain(`\`${name}\``);
  });

  it("lead from the README to the protocol and to the turn", () => {
    const links = linksOf("README.md");
    expect(links).toContain("PROTOCOL.md");
    expect(links).toContain("src/agent/turn.ts");
    expect(links).toContain("docs/quick-start.md");
  });
});
