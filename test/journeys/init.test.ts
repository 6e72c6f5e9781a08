/** The application that `init` writes. It is tested as its owner would test it, with the packages of this repository. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { runCli } from "../fixtures/cli-process.ts";

const root = join(import.meta.dirname, "../..");
/** No registry answers here, as if this version were not published. */
const env = { npm_config_registry: "http://127.0.0.1:9/" };
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "init-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it("writes an application that passes its own test, before the package is published", { timeout: 60_000 }, async () => {
  const cli = runCli(["init", "My Shop"], { cwd: folder, env });
  expect(await cli.ended).toBe(0);
  expect(cli.output()).toContain('cd "My Shop"');
  const app = join(folder, "My Shop");
  const { name, dependencies } = JSON.parse(readFileSync(join(app, "package.json"), "utf8")) as {
    name: string;
    dependencies: Record<string, string>;
  };
  expect(name).toBe("my-shop");
  expect(dependencies["adk-stream-protocol"]).toMatch(/^file:vendor\/adk-stream-protocol-.*\.tgz$/);
  expect(existsSync(join(app, dependencies["adk-stream-protocol"]?.slice("file:".length) ?? ""))).toBe(true);
  expect(existsSync(join(app, ".gitignore"))).toBe(true);

  symlinkSync(join(root, "node_modules"), join(app, "node_modules"));
  const path = [join(root, "node_modules/.bin"), process.env["PATH"]].join(delimiter);
  const test = spawn("npm", ["test"], {
    cwd: app,
    env: { PATH: path, HOME: folder },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let printed = "";
  for (const stream of [test.stdout, test.stderr]) stream.on("data", (piece: Buffer) => (printed += String(piece)));
  await once(test, "close");
  expect(printed).toContain("pass 1");
  expect(printed).not.toContain("INFO");
  expect(test.exitCode, printed).toBe(0);
});

it("is what npm create runs", { timeout: 60_000 }, async () => {
  const create = runCli(["shop"], { cwd: folder, env, main: join(root, "tools/create/main.js") });
  expect(await create.ended).toBe(0);
  expect(create.output()).toContain("Wrote shop into shop.");
  expect(existsSync(join(folder, "shop/agent.ts"))).toBe(true);
});

it("overwrites nothing", async () => {
  writeFileSync(join(folder, "agent.ts"), "mine");
  const cli = runCli(["init", "."], { cwd: folder, env });
  expect(await cli.ended).toBe(1);
  expect(cli.output()).toBe("The folder . is not empty, and init overwrites nothing.\n");
  expect(readFileSync(join(folder, "agent.ts"), "utf8")).toBe("mine");
});
