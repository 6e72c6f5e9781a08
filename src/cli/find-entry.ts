import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * The file that `import` of a package gives, found from another file. For `require`, Node would choose another form of
 * the package, with classes of its own. Undefined if the package is not there or does not export this.
 */
export function findEntry(specifier: string, from: string): string | undefined {
  const [, name = "", rest = ""] = /^((?:@[^/]+\/)?[^/]+)(\/.+)?$/.exec(specifier) ?? [];
  for (let folder = dirname(from); ; folder = dirname(folder)) {
    const path = join(folder, "node_modules", name);
    if (existsSync(join(path, "package.json"))) {
      const { exports } = JSON.parse(readFileSync(join(path, "package.json"), "utf8")) as { exports?: unknown };
      const entry = chooseTarget((exports as Record<string, unknown> | undefined)?.[`.${rest}`]);
      return entry === undefined ? undefined : join(path, entry);
    }
    if (dirname(folder) === folder) return undefined;
  }
}

const conditions = new Set(["node", "import", "module-sync", "default"]);

function chooseTarget(target: unknown): string | undefined {
  if (typeof target === "string") return target;
  if (typeof target !== "object" || target === null) return undefined;
  for (const [condition, inner] of Object.entries(target)) {
    const found = conditions.has(condition) ? chooseTarget(inner) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}
