import module from "node:module";

/** TypeScript that cannot be loaded, with the place. */
export class TypeScriptError extends Error {}

/** TypeScript as JavaScript. Types are replaced by spaces, so lines and columns stay. */
export function stripTypes(source: string, path: string): string {
  if (/\.[cm]?tsx$/.test(path))
    throw new TypeScriptError(`${path} has JSX. Agents are loaded from .ts, .mts and .js files.`);
  try {
    return strip(source, "strip", path);
  } catch (error) {
    if (!isUnsupported(error)) throw toError(error, path);
    try {
      // Enums, namespaces and parameter properties need code. Node 22 and 24 can write it, later ones cannot.
      return strip(source, "transform", path);
    } catch (second) {
      const isUnknown = (second as { code?: unknown }).code === "ERR_INVALID_ARG_VALUE";
      throw toError(isUnknown ? error : second, path);
    }
  }
}

function strip(source: string, mode: "strip" | "transform", path: string): string {
  return module.stripTypeScriptTypes(source, { mode, sourceUrl: path });
}

/** Node 22.13 has one code for both kinds of errors. */
function isUnsupported(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX" || /strip-only mode/.test(String(message));
}

function toError(error: unknown, path: string): TypeScriptError {
  const { message = "", code, stack = "" } = error as { message?: string; code?: unknown; stack?: string };
  const line = /:(\d+)\n/.exec(stack)?.[1] ?? /,-\[(?:[^\]]*:)?(\d+):\d+\]/.exec(message)?.[1];
  const [first = ""] = message.trim().split("\n");
  const sentence = first.replace(/^x\s+/, "").replace(/[.:]?\s*$/, "");
  const advice =
    code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX"
      ? " This Node cannot load it: write it in plain TypeScript, for example a const object instead of an enum."
      : "";
  return new TypeScriptError(`${path}${line === undefined ? "" : `:${line}`}: ${sentence}.${advice}`, { cause: error });
}
