/** What the built package needs to be installed beside it. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");
const { exports, dependencies, peerDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  exports: Record<string, string | { types: string }>;
  dependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
};

/** The packages that the declarations of an entry point import, directly or through other declarations. */
function packagesNamedBy(entry: string): Set<string> {
  const seen = new Set<string>();
  const named = new Set<string>();
  const visit = (file: string) => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const [, from = ""] of readFileSync(file, "utf8").matchAll(/(?:from|import\() ?"([^"]+)"/g)) {
      if (from.startsWith(".")) visit(join(dirname(file), from.replace(/\.(?:js|ts)$/, ".d.ts")));
      else if (!from.startsWith("node:")) named.add(from);
    }
  };
  visit(entry);
  return named;
}

describe.each(Object.entries(exports).filter(([, target]) => typeof target === "object"))(
  "the types of %s",
  (_, target) => {
    it("import only packages that have types and are installed with this one", () => {
      const { types } = target as { types: string };
      const file = join(root, types);
      expect(existsSync(file), "npm run build:package makes it").toBe(true);
      const offered = new Set(Object.keys({ ...dependencies, ...peerDependencies }));
      // The types of `ws` are in another package, which is needed to build this one and not to use it.
      offered.delete("ws");
      expect([...packagesNamedBy(file)].filter((name) => !offered.has(name))).toEqual([]);
    });
  },
);
