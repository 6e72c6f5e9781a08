#!/usr/bin/env node
// `npm create adk-stream-protocol my-app` runs this. It runs `adk-stream-protocol init my-app` of the same version.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";

const { version } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));
const folder = process.argv[2] ?? "agent-chat";
/** The command in a checkout of the repository. */
const local = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const isWindows = process.platform === "win32";
const [command, args] = existsSync(local)
  ? [process.execPath, [local, "init", folder]]
  : [isWindows ? "npx.cmd" : "npx", ["--yes", `adk-stream-protocol@${version}`, "init", folder]];
process.exitCode =
  spawnSync(command, args, { stdio: "inherit", shell: isWindows && command !== process.execPath }).status ?? 1;
