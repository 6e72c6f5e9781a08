import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { TypeScriptError } from "./strip-types.ts";

/** Says in one sentence why a file of the project could not be loaded, with the place if there is one. */
export function loadErrorSentence(error: unknown, folder: string): string {
  const { message, code, stack = "" } = toError(error);
  const [first = ""] = message.split("\n");
  const shorten = (text: string) => shortenPaths(text, folder);
  if (error instanceof TypeScriptError) return shorten(first);
  const missing = /^Cannot find (package|module) '([^']+)' imported from (\S+)/.exec(first);
  if (code === "ERR_MODULE_NOT_FOUND" && missing) {
    const [, kind, name = "", from = ""] = missing;
    const importer = shorten(from.replace(/^file:\/\//, ""));
    if (kind === "module") return `${importer} imports ${shorten(name)}, which does not exist.`;
    return `${importer} imports ${name}, which is not installed. Run npm install ${packageOf(name)}.`;
  }
  const required = /^Cannot find module '([^']+)'/.exec(first)?.[1];
  if (code === "MODULE_NOT_FOUND" && required !== undefined) {
    const importer = shorten(/Require stack:\n- (\S+)/.exec(message)?.[1] ?? "The agent's file");
    if (/^[./]/.test(required)) return `${importer} requires ${required}, which does not exist.`;
    return `${importer} requires ${required}, which is not installed. Run npm install ${packageOf(required)}.`;
  }
  const place = placeIn(stack, folder);
  const at = place === undefined ? "" : `${place}: `;
  const absent = /does not provide an export named '([^']+)'/.exec(first)?.[1];
  if (absent !== undefined) return `${at}${shorten(first)}. If ${absent} is a type, write: import type { ${absent} }.`;
  return `${at}${shorten(first).replace(/[.]?$/, ".")}`;
}

function toError(error: unknown): { message: string; code: unknown; stack: string | undefined } {
  if (!(error instanceof Error)) return { message: String(error), code: undefined, stack: undefined };
  return { message: error.message || error.name, code: (error as { code?: unknown }).code, stack: error.stack };
}

/** The first file of the project in a stack, with its line. Syntax errors have it before their message. */
function placeIn(stack: string, folder: string): string | undefined {
  for (const [, path = "", line = ""] of stack.matchAll(
    /(?<![\w:/])((?:file:\/\/)?\/[^\s():]+?)(?:\?load=\d+)?:(\d+)/g,
  )) {
    const file = path.startsWith("file:") ? fileURLToPath(path) : path;
    if (!file.includes("/node_modules/") && !/\/dist\/cli\//.test(file)) return `${toRelative(file, folder)}:${line}`;
  }
  return undefined;
}

function shortenPaths(text: string, folder: string): string {
  return text
    .replaceAll(/\?load=\d+/g, "")
    .replaceAll(/(?:file:\/\/)?\/[^\s'":,]+/g, (path) =>
      path.startsWith("//") ? path : toRelative(path.replace(/^file:\/\//, ""), folder),
    );
}

function toRelative(path: string, folder: string): string {
  const short = relative(folder, path);
  return short.startsWith("..") || short === "" ? path : short;
}

function packageOf(specifier: string): string {
  const [first = "", second = ""] = specifier.split("/");
  return first.startsWith("@") ? `${first}/${second}` : first;
}
