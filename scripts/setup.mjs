// Installs what `npm start` and `npm test` need. It runs on any Node that is on PATH
// (20.20 or newer), before `node_modules` exists, so it is plain JavaScript without dependencies.
//
//   node scripts/setup.mjs             dependencies, and a Node that can run the project
//   node scripts/setup.mjs --browser   also Chromium and a Japanese font, for the tests
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { basename, delimiter, join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { findChromium } from "./find-chromium.mjs";
import { withLock } from "./with-lock.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const binaries = join(root, "node_modules", ".bin");
const oldestNode = { major: 22, minor: 13 };

/** A problem that the user can solve. Only its message is printed. */
class SetupError extends Error {}

try {
  // Several servers may be started at the same moment.
  await withLock(join(root, ".setup.lock"), installDependencies);
  checkNode();
  if (process.argv.includes("--browser")) installBrowser();
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

/** Runs `npm ci`, unless it has already succeeded with this lock file on this kind of machine. */
function installDependencies() {
  const stamp = join(root, "node_modules", ".setup-stamp");
  const lock = readFileSync(join(root, "package-lock.json"));
  const wanted = createHash("sha256").update(`${process.platform} ${process.arch}\n`).update(lock).digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;

  const servers = runningServers();
  if (servers.length > 0) {
    throw new SetupError(
      "The dependencies have changed, and installing them would remove what running servers use. " +
        `Stop the servers that run from this folder (process ${servers.join(", ")}) and try again.`,
    );
  }
  console.log("Installing the dependencies with npm ci; this takes up to a minute.");
  // Without these flags, the caller's NODE_ENV=production or omit=optional would leave out the tools or their binaries.
  const options = ["--include=dev", "--include=optional", "--loglevel=error", "--no-audit", "--no-fund"];
  const [command, ...first] = npmCommand();
  const npm = spawnSync(command, [...first, "ci", ...options], {
    cwd: root,
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, PATH: pathWithoutOurs() },
  });
  if (npm.error || npm.status !== 0) {
    throw new SetupError(`npm ci failed${npm.error ? `: ${npm.error.message}` : "; its message is above"}.`);
  }
  writeFileSync(stamp, wanted);
}

/**
 * The ids of the processes that run the demo from this folder, as far as the machine says so.
 *
 * @returns {string[]}
 */
function runningServers() {
  if (!existsSync("/proc/self/cwd")) return [];
  const folder = realpathSync(root);
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      return command[1]?.endsWith("demo/dist/server/main.js") && realpathSync(`/proc/${pid}/cwd`) === folder;
    } catch {
      // It has ended, or belongs to another user.
      return false;
    }
  });
}

/**
 * The npm that started this script, with the Node that runs it. `npm ci` removes `node_modules`, which contains the Node
 * that is first on PATH inside an npm script.
 *
 * @returns {[string, ...string[]]}
 */
function npmCommand() {
  const { npm_execpath: npm, npm_node_execpath: node } = process.env;
  return npm && node && basename(npm) === "npm-cli.js" ? [node, npm] : ["npm"];
}

function pathWithoutOurs() {
  const entries = (process.env.PATH ?? "").split(delimiter);
  return entries.filter((entry) => entry !== "" && resolve(root, entry) !== binaries).join(delimiter);
}

/** Throws if Node is too old for the project. npm scripts use the Node in `node_modules`, if there is one. */
function checkNode() {
  const installed = join(binaries, "node");
  if (existsSync(installed)) {
    if (isNewEnough(versionOf(installed))) return;
    // It was built for another kind of Linux. Without it, npm scripts use the system's Node.
    rmSync(installed);
  }
  const path = pathWithoutOurs();
  const version = versionOf("node", path);
  if (isNewEnough(version)) return;
  throw new SetupError(
    `The project needs Node ${oldestNode.major}.${oldestNode.minor} or newer, and npm has none for this machine; ` +
      `the one on PATH is ${version ?? "missing"}. Install Node 24 from https://nodejs.org and try again.`,
  );
}

/**
 * @param {string} node
 * @param {string} [path]
 */
function versionOf(node, path = process.env.PATH) {
  const run = spawnSync(node, ["--version"], { encoding: "utf8", env: { ...process.env, PATH: path } });
  return run.status === 0 ? run.stdout.trim() : undefined;
}

/** @param {string | undefined} version */
function isNewEnough(version) {
  const [major = 0, minor = 0] = (version ?? "").replace("v", "").split(".").map(Number);
  return major > oldestNode.major || (major === oldestNode.major && minor >= oldestNode.minor);
}

/** Installs Chromium, and a Japanese font so that screenshots show text instead of empty boxes. */
function installBrowser() {
  if (!findChromium()) {
    if (process.env.CHROMIUM_PATH) {
      throw new SetupError(`CHROMIUM_PATH is ${process.env.CHROMIUM_PATH}, which is not a program that can be run.`);
    }
    if (!canInstallPackages()) {
      throw new SetupError(
        "The browser tests need Chromium. Install it (on Debian: apt-get install chromium fonts-liberation " +
          "fonts-ipaexfont-gothic), or set CHROMIUM_PATH to a Chromium or Chrome, and try again.",
      );
    }
    console.log("Installing Chromium with apt-get; this takes up to a minute.");
    installPackages(["chromium", "fonts-liberation", ...missingFontPackages()]);
    if (!findChromium()) throw new SetupError("apt-get installed no Chromium. Set CHROMIUM_PATH to one and try again.");
  } else if (canInstallPackages() && missingFontPackages().length > 0) {
    console.log("Installing a Japanese font with apt-get.");
    try {
      installPackages(missingFontPackages());
    } catch (error) {
      if (!(error instanceof SetupError)) throw error;
      console.log("Continuing without a Japanese font; it only affects how screenshots look.");
    }
  }
}

function canInstallPackages() {
  return process.getuid?.() === 0 && existsSync("/usr/bin/apt-get");
}

function missingFontPackages() {
  const list = spawnSync("fc-list", [":lang=ja"], { encoding: "utf8" });
  if (list.error) return ["fontconfig", "fonts-ipaexfont-gothic"];
  return list.stdout.trim() === "" ? ["fonts-ipaexfont-gothic"] : [];
}

/** @param {string[]} packages */
function installPackages(packages) {
  for (const args of [["update"], ["install", "-y", "--no-install-recommends", ...packages]]) {
    const apt = spawnSync("apt-get", ["-qq", ...args], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    });
    if (apt.status !== 0) {
      throw new SetupError(
        `apt-get ${args.join(" ")} failed:\n${apt.error?.message ?? `${apt.stdout}${apt.stderr}`.trim()}`,
      );
    }
  }
}
