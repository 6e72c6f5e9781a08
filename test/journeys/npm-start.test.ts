/** `npm start` beside a server that runs from the same folder, after the sources have changed. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { UIMessageChunk } from "ai";
import { afterEach, describe, expect, it } from "vitest";
import { testDatabase } from "../fixtures/postgres.ts";

const root = join(import.meta.dirname, "../..");
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** A copy of the project with its builds. Its dependencies are those of the project. */
function copyProject(): string {
  const folder = mkdtempSync(join(tmpdir(), "npm-start-"));
  closing.push(() => rmSync(folder, { recursive: true, force: true }));
  const parts = ["package.json", "package-lock.json", "tsconfig.json", "tsconfig.build.json", "scripts", "src", "demo"];
  for (const part of [...parts, "dist"])
    cpSync(join(root, part), join(folder, part), { recursive: true, filter: (path) => !path.endsWith("node_modules") });
  const modules = join(root, "node_modules");
  mkdirSync(join(folder, "node_modules"));
  for (const name of readdirSync(modules))
    symlinkSync(name === "adk-stream-protocol" ? folder : join(modules, name), join(folder, "node_modules", name));
  return folder;
}

interface Started {
  url: string;
  child: ChildProcess;
}

/** What a person types, without the installation before it. */
async function npmStart(folder: string, databaseUrl: string): Promise<Started> {
  const child = spawn("npm", ["start", "--silent", "--ignore-scripts"], {
    cwd: folder,
    env: {
      ...{ HOME: process.env["HOME"], TMPDIR: folder, PORT: "0", DATABASE_URL: databaseUrl, WORD_MS: "1" },
      PATH: `${join(root, "node_modules/.bin")}:${process.env["PATH"]}`,
    },
    stdio: ["ignore", "pipe", "pipe"],
    // npm starts the server below it. All of them are one group, which ends together.
    detached: true,
  });
  const ended = once(child, "exit");
  closing.push(async () => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid ?? 0), "SIGKILL");
    await ended;
  });
  let printed = "";
  for (const output of [child.stdout, child.stderr]) output.on("data", (piece: Buffer) => (printed += String(piece)));
  const url = () => /Demo at (\S+)/.exec(printed)?.[1];
  await expect.poll(() => url() ?? child.exitCode, { timeout: 120_000, message: printed }).not.toBeNull();
  const found = url();
  if (found === undefined) throw new Error(`npm start ended: ${printed}`);
  return { url: found, child };
}

const json = { "content-type": "application/json" };
const post = (url: string, body: object) => fetch(url, { method: "POST", headers: json, body: JSON.stringify(body) });

/** The files of the page, as the server has them. */
async function pageOf(url: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const path of ["/", "/v6/"]) {
    const response = await fetch(url + path);
    expect([path, response.status]).toEqual([path, 200]);
    files[path] = await response.text();
    for (const [, asset = ""] of (files[path] ?? "").matchAll(/(?:src|href)="([^":]*assets\/[^"]+)"/g)) {
      const address = new URL(asset, url + path);
      const found = await fetch(address);
      expect([address.pathname, found.status]).toEqual([address.pathname, 200]);
      files[address.pathname] = await found.text();
    }
  }
  return files;
}

/** A payment from the message to the receipt. */
async function pay(url: string, chat: string): Promise<void> {
  const message = { id: `u-${chat}`, role: "user", parts: [{ type: "text", text: "Send 1 dollar to Hanako" }] };
  const asked = await (await post(`${url}/stream`, { id: chat, messages: [message] })).text();
  const chunks = [...asked.matchAll(/^data: (\{.*\})$/gm)].map(([, line = ""]) => JSON.parse(line) as UIMessageChunk);
  const question = chunks.find((chunk) => chunk.type === "tool-approval-request");
  expect((await post(`${url}/approvals/${question?.approvalId}`, { approved: true })).status).toBe(200);
  const state = async () => {
    const { approvals } = (await (await fetch(`${url}/approvals?chat=${chat}`)).json()) as {
      approvals: { state: string }[];
    };
    return approvals.map((approval) => approval.state);
  };
  await expect.poll(state).toEqual(["succeeded"]);
}

describe("npm start", () => {
  it("removes nothing that a server from the same folder uses", { timeout: 240_000 }, async () => {
    const database = await testDatabase({ bare: true });
    closing.push(() => database.close());
    const folder = copyProject();
    const first = await npmStart(folder, database.url);
    const page = await pageOf(first.url);
    expect(Object.keys(page).length).toBeGreaterThanOrEqual(6);

    // Another release, of the package, the page and the server.
    appendFileSync(join(folder, "src/index.ts"), "\nexport const anotherRelease = true;\n");
    appendFileSync(join(folder, "demo/page/main.tsx"), '\nconsole.debug("another release");\n');
    let isStarted = false;
    const starting = npmStart(folder, database.url).finally(() => (isStarted = true));
    let rounds = 0;
    // oxlint-disable-next-line no-unmodified-loop-condition -- the start changes it
    while (!isStarted) {
      expect(await pageOf(first.url)).toEqual(page);
      await pay(first.url, `during-${(rounds += 1)}`);
    }
    expect(rounds).toBeGreaterThan(1);
    const second = await starting;
    const next = await pageOf(second.url);
    expect(Object.keys(next)).not.toEqual(Object.keys(page));
    expect(Object.values(next).join("")).toContain("another release");
    expect(await pageOf(first.url)).toEqual(page);
    await pay(first.url, "after");
    await pay(second.url, "beside");
  });
});
