import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, expect, test } from "vitest";
import { cacheFolder, installAdk } from "./install-adk.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "install-adk-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

test("what was installed before is used again, without a word", async () => {
  const printed: string[] = [];
  const installed = join(folder, "adk-stream-protocol/adk-2.0.0-2.32.0");
  mkdirSync(installed, { recursive: true });
  writeFileSync(join(installed, "package.json"), "{}");
  const found = await installAdk((line) => printed.push(line), { XDG_CACHE_HOME: folder });
  expect(found).toBe(join(installed, "package.json"));
  expect(printed).toEqual([]);
});

test("without a registry the sentence says why and what to install, and nothing is left", async () => {
  const env = {
    ...{ PATH: process.env["PATH"], HOME: folder, XDG_CACHE_HOME: folder, npm_config_cache: join(folder, "npm") },
    ...{ npm_config_registry: "http://127.0.0.1:9/", npm_config_fetch_retries: "0" },
  };
  await expect(installAdk(() => undefined, env)).rejects.toThrow(
    /^@google\/adk is not installed, and npm cannot install it \(.*127\.0\.0\.1.*\)\. Run npm install @google\/adk/,
  );
  expect(readdirSync(join(folder, "adk-stream-protocol"))).toEqual([]);
});

test.each([
  ["linux", {}, "/home/hanako/.cache"],
  ["darwin", {}, "/home/hanako/Library/Caches"],
  ["win32", { LOCALAPPDATA: "/local" }, "/local"],
  ["linux", { XDG_CACHE_HOME: "/cache" }, "/cache"],
] as const)("the cache of %s with %o is %s", (platform, env, expected) => {
  expect(cacheFolder(env, platform, "/home/hanako")).toBe(expected);
});
