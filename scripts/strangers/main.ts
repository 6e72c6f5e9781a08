/**
 * Does what a stranger does with the published package: `npm pack`, install it in a fresh folder, follow the
 * documentation, and use the result. It needs the npm registry and takes minutes, so it is not a part of `npm test`.
 *
 *     npm run strangers                  all paths
 *     npm run strangers -- readme next   some of them
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { devPath } from "./dev-path.ts";
import { existingNextPath, nextPath } from "./next-path.ts";
import { pagePath } from "./page-path.ts";
import { readmePath } from "./readme-path.ts";
import { withoutAdkPath } from "./without-adk-path.ts";

/** Each path takes the packed package, prints what it finds, and throws if something does not work. */
const paths: Readonly<Record<string, (tarball: string) => Promise<void>>> = {
  "without-adk": withoutAdkPath,
  page: pagePath,
  readme: readmePath,
  next: nextPath,
  "existing-next": existingNextPath,
  dev: devPath,
};

const root = join(import.meta.dirname, "../..");
const chosen = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(paths);
const folder = mkdtempSync(join(tmpdir(), "pack-"));
let failed = 0;
try {
  const tarball = pack();
  for (const name of chosen) {
    const path = paths[name];
    if (!path) throw new Error(`There is no path ${name}; there are ${Object.keys(paths).join(", ")}.`);
    const start = performance.now();
    console.log(name);
    try {
      await path(tarball);
      console.log(`ok   ${name} (${seconds(start)} s)`);
    } catch (error) {
      failed += 1;
      console.log(`FAIL ${name} (${seconds(start)} s)\n${error instanceof Error ? error.message : String(error)}`);
    }
  }
} finally {
  rmSync(folder, { recursive: true });
}
console.log(`${chosen.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

/** The package as `npm publish` would send it, built by its own `prepack`. */
function pack(): string {
  const npm = spawnSync("npm", ["pack", "--pack-destination", folder, "--loglevel=error"], {
    cwd: root,
    encoding: "utf8",
  });
  if (npm.status !== 0) throw new Error(`npm pack failed:\n${npm.stdout}${npm.stderr}`);
  const { name, version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Record<string, string>;
  return join(folder, `${name}-${version}.tgz`);
}

function seconds(start: number): string {
  return ((performance.now() - start) / 1000).toFixed(1);
}
