import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

export interface ChosenPackage {
  /** The folder of the new application. */
  folder: string;
  ownFolder: string;
  version: string;
  registry: string;
}

/**
 * What the application writes as the version of this package. If the registry does not have this version, or cannot be
 * reached, the application gets a copy of the package that runs now.
 */
export async function choosePackage({ folder, ownFolder, version, registry }: ChosenPackage): Promise<string> {
  if (await isPublished(registry, version)) return `^${version}`;
  const vendor = join(folder, "vendor");
  mkdirSync(vendor);
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const packed = spawnSync(npm, ["pack", "--silent", "--ignore-scripts", "--pack-destination", vendor], {
    cwd: ownFolder,
    encoding: "utf8",
    shell: process.platform === "win32",
  });
  const [archive] = readdirSync(vendor);
  if (packed.status === 0 && archive !== undefined) return `file:vendor/${archive}`;
  rmdirSync(vendor);
  return `file:${ownFolder}`;
}

const registryMs = 3000;

/** A package of this name may be there that is not this one, so its command is looked at too. */
async function isPublished(registry: string, version: string): Promise<boolean> {
  try {
    const url = `${registry.replace(/\/$/, "")}/adk-stream-protocol/${version}`;
    const response = await fetch(url, { signal: AbortSignal.timeout(registryMs) });
    const { bin } = (await response.json()) as { bin?: Record<string, string> };
    return response.ok && bin?.["adk-stream-protocol"] !== undefined;
  } catch {
    return false;
  }
}
