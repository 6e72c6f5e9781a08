/** The application that `init` writes. It is tested as its owner would test it, with the packages of this repository. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { cpSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";
import { stripVTControlCharacters } from "node:util";
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

it("serves its page with reload, and does not restart because of its own start", { timeout: 60_000 }, async () => {
  const app = join(folder, "app");
  cpSync(join(root, "template"), app, { recursive: true });
  mkdirSync(join(app, "node_modules"));
  for (const name of readdirSync(join(root, "node_modules")).filter((each) => !each.startsWith(".vite")))
    symlinkSync(join(root, "node_modules", name), join(app, "node_modules", name));
  const server = spawn(process.execPath, ["server.ts", "--dev"], {
    ...{ cwd: app, stdio: ["ignore", "pipe", "pipe"] },
    env: { PATH: process.env["PATH"], HOME: folder, PORT: "0" },
  });
  const ended = once(server, "close");
  try {
    const url = await new Promise<string>((resolve, reject) => {
      let printed = "";
      const read = (piece: Buffer) => {
        printed += String(piece);
        const found = /Local:\s+(http:\S+)\//.exec(stripVTControlCharacters(printed));
        if (found?.[1]) resolve(found[1]);
      };
      server.stdout.on("data", read);
      server.stderr.on("data", read);
      server.once("close", () => reject(new Error(printed)));
    });
    expect(await (await fetch(url)).text()).toContain("/page/main.tsx");
    const message = { id: "m1", role: "user", parts: [{ type: "text", text: "Pay Hanako 50." }] };
    const reply = await fetch(`${url}/stream`, {
      ...{ method: "POST", headers: { "content-type": "application/json", origin: url } },
      body: JSON.stringify({ id: "c1", messages: [message] }),
    });
    expect(await reply.text()).toContain("tool-approval-request");
    // Vite's default way to load its settings writes a file here, and `node --watch` restarts the server because of it.
    expect(existsSync(join(app, "node_modules/.vite-temp"))).toBe(false);
  } finally {
    server.kill();
    await ended;
  }
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
