import { readFileSync } from "node:fs";
import { join } from "node:path";
import { exportsOf, type Origin } from "./declaration-file.ts";
import { describe, type Description } from "./describe.ts";

/** A public entry of the package, such as `adk-stream-protocol/server`. */
export interface Entry {
  /** What an import writes. */
  name: string;
  /** The name of its page, without an ending. */
  slug: string;
  exported: Description[];
  /** Types that the exported names use and that cannot be imported by name. */
  used: Description[];
}

interface Manifest {
  name: string;
  exports: Record<string, string | { types: string }>;
}

/** Every public entry of package.json, from the declarations that the build has written to `dist`. */
export function readEntries(root: string): Entry[] {
  const { name, exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;
  const targets = Object.entries(exports).flatMap(([subpath, target]) =>
    // A stylesheet has types so that it can be imported, and exports nothing.
    typeof target === "object" && "types" in target && !subpath.endsWith(".css")
      ? { subpath, names: exportsOf(join(root, target.types)) }
      : [],
  );
  const everywhere = new Set(targets.flatMap(({ names }) => [...names.values()].map(keyOf)));
  return targets.map(({ subpath, names }) => {
    const slug = subpath === "." ? "main" : subpath.slice(2).replaceAll("/", "-");
    const exported = [...names].map(([exportName, origin]) => describe(join(root, "dist"), exportName, origin));
    const used = readUsed(join(root, "dist"), exported, everywhere);
    return { name: `${name}${subpath.slice(1)}`, slug, exported: sorted(exported), used: sorted(used) };
  });
}

/** Types that these names use, directly or through each other. Classes that no entry exports are details. */
function readUsed(dist: string, exported: readonly Description[], everywhere: ReadonlySet<string>): Description[] {
  const known = new Set(everywhere);
  const used: Description[] = [];
  const open = exported.flatMap(({ uses }) => uses);
  for (let origin = open.shift(); origin; origin = open.shift()) {
    if (known.has(keyOf(origin))) continue;
    known.add(keyOf(origin));
    const description = describe(dist, origin.name, origin);
    if (description.kind === "class") continue;
    used.push(description);
    open.push(...description.uses);
  }
  return used;
}

const keyOf = ({ file, name }: Origin) => `${file}#${name}`;

function sorted(descriptions: Description[]): Description[] {
  return descriptions.toSorted((a, b) => a.name.localeCompare(b.name, "en"));
}
