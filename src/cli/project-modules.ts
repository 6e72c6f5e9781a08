import { existsSync, readFileSync } from "node:fs";
import module from "node:module";
import { extname, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { findEntry } from "./find-entry.ts";
import { stripTypes } from "./strip-types.ts";

/**
 * Loads files of a project again and again. Node keeps every module that it has imported, so each load gives the address
 * of every project file a number: a new number is a new module. Packages in node_modules are loaded once.
 */
export interface ProjectModules {
  /** Imports a file and everything of the project that it imports. */
  load(file: string): Promise<Record<string, unknown>>;
  /** The files of the project that the last load has looked for, those that are missing too. */
  readonly files: ReadonlySet<string>;
  /** When the last load began. */
  readonly loadedAt: number;
}

export interface ProjectModulesOptions {
  /** The folder of this package. Its own files are not part of a project. */
  ownFolder: string;
  /** A file in the project that has its own `@google/adk`; undefined if this package's is used. */
  sharedFrom: string | undefined;
}

interface ResolveContext {
  conditions: string[];
  importAttributes: Record<string, string>;
  parentURL: string | undefined;
}
interface Resolved {
  url: string;
  format?: string | null | undefined;
  shortCircuit?: boolean;
}

/** Packages of which there must be one copy: an agent that is made by another copy is not an agent for the bridge. */
const shared = /^@google\/(?:adk|genai)(?:\/|$)/;
const own = /^adk-stream-protocol(?:\/|$)/;
const typeScript = /\.[cm]?tsx?$/;

/** True if this Node lets us load TypeScript and reload what a file imports. */
export const canHook = typeof module.registerHooks === "function";

/** Installs the hooks. They apply to the whole process, so this is called once. */
export function hookProjectModules({ ownFolder, sharedFrom }: ProjectModulesOptions): ProjectModules {
  let number = 0;
  let files = new Set<string>();
  let loadedAt = 0;
  const ownFiles = ownFolder + sep + "dist" + sep;
  const self = `${ownFiles}cli/main.js`;
  const requireHere = module.createRequire(self);

  const isProjectFile = (url: string): boolean => {
    if (!url.startsWith("file:")) return false;
    const path = fileURLToPath(url);
    return !path.includes(`${sep}node_modules${sep}`) && !path.startsWith(ownFiles);
  };

  function resolve(specifier: string, context: ResolveContext, next: Next): Resolved {
    const isOurs = context.parentURL?.startsWith(pathToFileURL(ownFiles).href) ?? false;
    const isRequired = !context.conditions.includes("import");
    if (shared.test(specifier) && (isOurs || isProjectFile(context.parentURL ?? ""))) {
      const from = sharedFrom ?? self;
      // One copy also means one form: ADK has another set of classes for `require`.
      const entry = isRequired ? findEntry(specifier, from) : undefined;
      if (entry !== undefined) return { url: pathToFileURL(entry).href, format: "module", shortCircuit: true };
      return next(specifier, { ...context, parentURL: pathToFileURL(from).href });
    }
    if (own.test(specifier) && !isOurs) return resolveHere(specifier, context, next);
    const resolved = resolveOrReplace(specifier, context, next);
    if (!isProjectFile(resolved.url)) return resolved;
    const url = new URL(resolved.url);
    files.add(fileURLToPath(url));
    // `require` keeps its modules by path; `load` empties that cache.
    if (!isRequired && !url.searchParams.has("load"))
      url.searchParams.set("load", numberOf(context.parentURL) ?? String(number));
    return { ...resolved, url: url.href };
  }

  /** What this package would import. Node finds what a file requires from that file only. */
  function resolveHere(specifier: string, context: ResolveContext, next: Next): Resolved {
    if (context.conditions.includes("import"))
      return next(specifier, { ...context, parentURL: pathToFileURL(self).href });
    return { url: pathToFileURL(requireHere.resolve(specifier)).href, shortCircuit: true };
  }

  /** What Node finds, or a TypeScript file for `./tools.js` and `./tools`, or a package that this package has. */
  function resolveOrReplace(specifier: string, context: ResolveContext, next: Next): Resolved {
    try {
      return next(specifier, context);
    } catch (error) {
      if (/^\.{0,2}\//.test(specifier) && context.parentURL?.startsWith("file:")) {
        const wanted = fileURLToPath(new URL(specifier, context.parentURL));
        const found = candidates(wanted).find((path) => existsSync(path));
        // When the file appears, the agent is loaded again.
        if (isProjectFile(pathToFileURL(wanted).href))
          for (const path of [wanted, ...candidates(wanted)]) files.add(path);
        if (found !== undefined) return next(pathToFileURL(found).href, context);
      } else if (isBare(specifier) && isProjectFile(context.parentURL ?? "")) {
        try {
          return resolveHere(specifier, context, next);
        } catch {
          // The first error names the file that imports the package.
        }
      }
      throw error;
    }
  }

  function load(url: string, context: { format?: string | null | undefined }, next: NextLoad) {
    if (!isProjectFile(url) || !typeScript.test(new URL(url).pathname)) return next(url, context);
    const path = fileURLToPath(url);
    files.add(path);
    const source = readFileSync(path, "utf8");
    return { format: formatOf(path, source), source: stripTypes(source, path), shortCircuit: true };
  }

  if (canHook) module.registerHooks({ resolve: resolve as never, load: load as never });
  const { cache } = module.createRequire(import.meta.url);
  return {
    get files() {
      return files;
    },
    get loadedAt() {
      return loadedAt;
    },
    async load(file) {
      number += 1;
      loadedAt = Date.now();
      files = new Set([file]);
      for (const path of Object.keys(cache)) if (isProjectFile(pathToFileURL(path).href)) delete cache[path];
      const url = pathToFileURL(file);
      url.searchParams.set("load", String(number));
      return (await import(url.href)) as Record<string, unknown>;
    },
  };
}

type Next = (specifier: string, context: ResolveContext) => Resolved;
type NextLoad = (url: string, context: { format?: string | null | undefined }) => unknown;

function numberOf(parent: string | undefined): string | undefined {
  return parent === undefined ? undefined : (new URL(parent).searchParams.get("load") ?? undefined);
}

function isBare(specifier: string): boolean {
  return !/^(?:\.{0,2}\/|[a-z]+:|#)/i.test(specifier);
}

/** The files that TypeScript would take for an import that Node does not find. */
function candidates(path: string): string[] {
  const ending = extname(path);
  const asTypeScript = /^\.[cm]?jsx?$/.test(ending) ? [path.slice(0, -ending.length) + ending.replace("j", "t")] : [];
  const endings = [".ts", ".mts", ".js", ".mjs", ".cjs", ".cts"];
  return [...asTypeScript, ...endings.map((end) => path + end), ...endings.map((end) => `${path}${sep}index${end}`)];
}

/** Most TypeScript is written with `import`, whatever package.json says. */
function formatOf(path: string, source: string): "module" | "commonjs" {
  if (path.endsWith(".cts")) return "commonjs";
  return path.endsWith(".mts") || /^\s*(?:import|export)\b/m.test(source) ? "module" : "commonjs";
}
