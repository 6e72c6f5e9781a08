import { existsSync, globSync } from "node:fs";
import { join } from "node:path";

export interface Section {
  title: string;
  /** Markdown files, from the root of the project. A page's title is its first heading. */
  files: string[];
}

/**
 * The pages of the site, in order. To add a page, add its line here. A file that does not exist is left out; a file in
 * `docs/` that is not listed fails a test. Design pages and decisions are found by their folders.
 */
export function readNavigation(root: string): Section[] {
  const sections: Section[] = [
    {
      title: "Start",
      files: ["README.md", "docs/quick-start.md", "docs/cli.md", "docs/demo.md"],
    },
    {
      title: "Guide",
      files: [
        "docs/tools.md",
        "docs/approvals.md",
        "docs/chats.md",
        "docs/files.md",
        "docs/page.md",
        "docs/components.md",
        "docs/testing.md",
      ],
    },
    {
      title: "Production",
      files: ["docs/mounting.md", "docs/operations.md", "docs/figures.md"],
    },
    {
      title: "Reference",
      files: ["PROTOCOL.md", "docs/reference.md"],
    },
    {
      title: "Design",
      files: ["docs/design/walk.md", ...find(root, "docs/design/*.md", ["docs/design/walk.md"]), "CONTRIBUTING.md"],
    },
    {
      title: "Decisions",
      files: find(root, "docs/decisions/*.md").toReversed(),
    },
  ];
  return sections.map(({ title, files }) => ({ title, files: files.filter((file) => existsSync(join(root, file))) }));
}

function find(root: string, pattern: string, except: readonly string[] = []): string[] {
  return globSync(pattern, { cwd: root })
    .filter((file) => !except.includes(file))
    .toSorted();
}
