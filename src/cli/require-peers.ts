import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ownFolder } from "./own-package.ts";

const needed = "2.0";

export interface PeerOptions {
  /** Installs ADK if there is none. Returns a file from which it is found. */
  install?: (() => Promise<string>) | undefined;
  own?: string;
}

/**
 * Finds the `@google/adk` that agent and bridge share: the project's, or the one beside this package, or one that is
 * installed now. Returns a file from which Node finds it, or undefined if it is the one beside this package. Rejects with a
 * sentence if there is none, or another version.
 */
export async function requirePeers(file: string, options: PeerOptions = {}): Promise<string | undefined> {
  const { install, own = ownFolder } = options;
  const ofProject = versionOf("@google/adk", dirname(file));
  const version = ofProject ?? versionOf("@google/adk", own);
  if (version === undefined) {
    if (install) return install();
    throw new Error("@google/adk is not installed. Run npm install @google/adk@~2.0.0 @google/genai ai zod.");
  }
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
