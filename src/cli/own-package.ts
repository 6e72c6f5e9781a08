import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The folder of this package. */
export const ownFolder: string = join(import.meta.dirname, "..", "..");

export function ownVersion(): string {
  const { version } = JSON.parse(readFileSync(join(ownFolder, "package.json"), "utf8")) as { version: string };
  return version;
}
