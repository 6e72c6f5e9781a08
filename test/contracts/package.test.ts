/** What the built package asks of those who install it. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");
const { exports, dependencies, peerDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  exports: Record<string, string | { types: string }>;
  dependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
};

/** The packages that the declarations behind an entry point name, as a compiler finds them. */
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
    it("name only packages that bring their own, and that whoever installs this one has", () => {
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
