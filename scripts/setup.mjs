// What `npm start` and `npm test` need before anything else can run. It runs on the Node that happens to be on PATH
// (20.20 or newer) and before `node_modules` exists, so it is plain JavaScript without dependencies.
//
//   node scripts/setup.mjs             dependencies, and a Node that can run the project
//   node scripts/setup.mjs --browser   also Chromium and a Japanese font, for the tests
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, delimiter, join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { findChromium } from "./find-chromium.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const binaries = join(root, "node_modules", ".bin");
const oldestNode = { major: 22, minor: 13 };

/** A problem that the person at the keyboard can solve; its message is all they need to see. */
class SetupError extends Error {}

try {
  installDependencies();
  checkNode();
  if (process.argv.includes("--browser")) installBrowser();
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

/** Runs `npm ci` when `node_modules` was not made, completely, from this lock file on this kind of machine. */
function installDependencies() {
  const stamp = join(root, "node_modules", ".setup-stamp");
  const lock = readFileSync(join(root, "package-lock.json"));
  const wanted = createHash("sha256").update(`${process.platform} ${process.arch}\n`).update(lock).digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;

  console.log("Installing the dependencies with npm ci; this takes up to a minute.");
  // A NODE_ENV=production or omit=optional of the caller would leave out the tools, or their binaries.
  const options = ["--include=dev", "--include=optional", "--loglevel=error", "--no-audit", "--no-fund"];
  const [command, ...first] = npmCommand();
  const npm = spawnSync(command, [...first, "ci", ...options], {
    cwd: root,
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, PATH: pathWithoutOurs() },
  });
  if (npm.error || npm.status !== 0) {
    throw new SetupError(`npm ci did not succeed${npm.error ? `: ${npm.error.message}` : "; its message is above"}.`);
  }
  writeFileSync(stamp, wanted);
}

/**
 * The npm that started this script, on the Node that runs it: `npm ci` removes `node_modules`, and with it the Node
 * that PATH names first inside an npm script.
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

/** Refuses to go on with a Node that cannot run the project. npm scripts prefer the one in `node_modules`, if any. */
function checkNode() {
  const brought = join(binaries, "node");
  if (existsSync(brought)) {
    if (isNewEnough(versionOf(brought))) return;
    // It was built for another kind of Linux (musl); out of the way, the system's own comes first again.
    rmSync(brought);
  }
  const path = pathWithoutOurs();
  const version = versionOf("node", path);
  if (isNewEnough(version)) return;
  throw new SetupError(
    `The project needs Node ${oldestNode.major}.${oldestNode.minor} or newer and npm has none for this machine; ` +
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

/** Makes sure of Chromium, and of a Japanese font so that screenshots show words instead of empty boxes. */
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
    if (!findChromium()) throw new SetupError("apt-get brought no Chromium. Set CHROMIUM_PATH to one and try again.");
  } else if (canInstallPackages() && missingFontPackages().length > 0) {
    console.log("Installing a Japanese font with apt-get.");
    try {
      installPackages(missingFontPackages());
    } catch (error) {
      if (!(error instanceof SetupError)) throw error;
      console.log("Going on without a Japanese font; only the looks of screenshots depend on it.");
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
        `apt-get ${args.join(" ")} did not succeed:\n${apt.error?.message ?? `${apt.stdout}${apt.stderr}`.trim()}`,
      );
    }
  }
}
