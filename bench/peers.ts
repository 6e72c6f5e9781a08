import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

const folder = new URL("./peers/", import.meta.url);

/** The packages of `peers/`, by file: an import by name would find the project's own copies. */
export const peerPackages = {
  adk: new URL("node_modules/@google/adk/dist/esm/index.js", folder).href,
  databases: new URL("node_modules/@google/adk/dist/esm/sessions/database_session_service.js", folder).href,
  devTools: new URL("node_modules/@google/adk-devtools/dist/esm/index.js", folder).href,
};

/**
 * Installs ADK's own server unless it is installed. It is large, so only the bench does this. Returns false if it cannot
 * be installed; the bench then leaves it out.
 */
export function installPeers(): boolean {
  installed ??= install();
  return installed;
}

/** Several sections ask for the installation; it is tried once. */
let installed: boolean | undefined;

/** Builds the native driver that ADK's sessions on SQLite need. False if it cannot be built here. */
export function buildPeerSqlite(): boolean {
  const driver = new URL("node_modules/sqlite3/build/Release/node_sqlite3.node", folder);
  if (existsSync(driver)) return true;
  console.log("Building sqlite3 for ADK's sessions, once; a minute or three.");
  const { status } = spawnSync("npm", ["rebuild", "sqlite3", "--loglevel=error"], {
    cwd: folder,
    timeout: 300_000,
    stdio: "ignore",
    shell: process.platform === "win32",
  });
  return status === 0 && existsSync(driver);
}

function install(): boolean {
  if (isInstalled()) return true;
  console.log("Installing @google/adk-devtools into bench/peers, once; about 280 MB and a minute or two.");
  const options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=1"];
  const { status, stderr, error } = spawnSync("npm", ["ci", ...options], {
    cwd: folder,
    encoding: "utf8",
    timeout: 300_000,
    stdio: ["ignore", "ignore", "pipe"],
    shell: process.platform === "win32",
  });
  if (status === 0 && isInstalled()) return true;
  const reason = error?.message ?? stderr.trim().split("\n")[0] ?? "no reason given";
  console.log(`It could not be installed (${reason}), so the comparison with /run_sse is left out.`);
  return false;
}

/** npm writes this file last, so an installation that was cut off does not have it. */
function isInstalled(): boolean {
  const done = new URL("node_modules/.package-lock.json", folder);
  if (!existsSync(done)) return false;
  const wanted = versionIn(new URL("package-lock.json", folder));
  return wanted !== undefined && versionIn(done) === wanted;
}

function versionIn(lock: URL): string | undefined {
  const { packages } = JSON.parse(readFileSync(lock, "utf8")) as { packages: Record<string, { version?: string }> };
  return packages["node_modules/@google/adk-devtools"]?.version;
}
