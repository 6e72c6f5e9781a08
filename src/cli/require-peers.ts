import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ownFolder } from "./own-package.ts";

const needed = "2.0";

/**
 * Finds the `@google/adk` that agent and bridge share: the project's, or the one beside this package. Returns a file of the
 * project if it is the project's. Throws a sentence if there is none, or another version.
 */
export function requirePeers(file: string, own: string = ownFolder): string | undefined {
  const ofProject = versionOf("@google/adk", dirname(file));
  const version = ofProject ?? versionOf("@google/adk", own);
  if (version === undefined)
    throw new Error("@google/adk is not installed. Run npm install @google/adk@~2.0.0 @google/genai ai zod.");
  if (!version.startsWith(`${needed}.`))
    throw new Error(`adk-stream-protocol needs @google/adk ~${needed}.0; the project has ${version}.`);
  return ofProject === undefined ? undefined : file;
}

/** The version of a package that Node would find from a folder. */
function versionOf(name: string, from: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    const path = join(folder, "node_modules", name, "package.json");
    if (existsSync(path)) return (JSON.parse(readFileSync(path, "utf8")) as { version?: string }).version;
    if (dirname(folder) === folder) return undefined;
  }
}
