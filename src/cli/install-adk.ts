import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { ownFolder } from "./own-package.ts";

type Env = Record<string, string | undefined>;

/**
 * Installs ADK for an agent file that has none beside it, once, into a folder of the user's cache. The project stays as it
 * is. Returns a file from which Node finds ADK. Rejects with a sentence if npm cannot install it.
 */
export async function installAdk(print: (line: string) => void, env: Env = process.env): Promise<string> {
  const { peerDependencies } = JSON.parse(readFileSync(join(ownFolder, "package.json"), "utf8")) as {
    peerDependencies: Record<string, string>;
  };
  const dependencies = pick(peerDependencies, ["@google/adk", "@google/genai"]);
  const name = Object.values(dependencies)
    .join("-")
    .replaceAll(/[^\d.-]/g, "");
  const folder = join(cacheFolder(env, process.platform), "adk-stream-protocol", `adk-${name}`);
  const manifest = join(folder, "package.json");
  if (existsSync(manifest)) return manifest;

  print(`Installing @google/adk once, because there is none beside the agent: into ${folder}`);
  // Only a complete installation gets the folder's name, and another process may make it at the same time.
  const next = `${folder}.${process.pid}`;
  try {
    mkdirSync(next, { recursive: true });
    writeFileSync(join(next, "package.json"), JSON.stringify({ private: true, dependencies }));
    await npmInstall(next, env);
    if (!existsSync(manifest)) renameSync(next, folder);
  } catch (error) {
    if (existsSync(manifest)) return manifest;
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `@google/adk is not installed, and npm cannot install it (${reason}). Run npm install @google/adk@~2.0.0 @google/genai ai zod.`,
      { cause: error },
    );
  } finally {
    rmSync(next, { recursive: true, force: true });
  }
  return manifest;
}

async function npmInstall(folder: string, env: Env): Promise<void> {
  const isWindows = process.platform === "win32";
  const prefix = isWindows ? JSON.stringify(folder) : folder;
  const quiet = ["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"];
  // By default npm waits half a minute before it says that there is no network.
  const retries = ["--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=3000"];
  const args = ["install", "--prefix", prefix, "--ignore-scripts", ...quiet, ...retries];
  const npm = spawn(isWindows ? "npm.cmd" : "npm", args, {
    ...{ cwd: folder, env, shell: isWindows },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let printed = "";
  npm.stderr.on("data", (piece: Buffer) => (printed += String(piece)));
  const [status] = (await once(npm, "close")) as [number | null];
  if (status === 0) return;
  const lines = [...printed.matchAll(/^npm error (?!code |errno |syscall |A complete log)(.+)$/gm)].map(
    ([, line]) => line,
  );
  throw new Error(lines[0]?.replace(/[.:]$/, "") ?? `it ended with ${status}`);
}

/** Where programs of this user keep what they can make again. */
export function cacheFolder(env: Env, platform: NodeJS.Platform, home: string = homedir()): string {
  if (env["XDG_CACHE_HOME"]) return env["XDG_CACHE_HOME"];
  if (platform === "win32") return env["LOCALAPPDATA"] || join(home, "AppData", "Local");
  return platform === "darwin" ? join(home, "Library", "Caches") : join(home, ".cache");
}

function pick(all: Readonly<Record<string, string>>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, all[name] ?? "*"]));
}
