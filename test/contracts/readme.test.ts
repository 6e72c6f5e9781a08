/** The program of README.md and docs/quick-start.md, compiled with the tests and started as a reader starts it. */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { call, startScriptedGemini, text } from "adk-stream-protocol/testing";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { examplesOf, readProjectFile, root } from "../fixtures/documents.ts";

const program = readProjectFile("test/fixtures/readme-example.ts");

/** A folder in which the packages that the README installs can be imported. */
function projectFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "readme-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(root, join(folder, "node_modules/adk-stream-protocol"));
  for (const name of ["@google", "zod"])
    symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  return folder;
}

/** Starts a program and resolves with the first line that it prints. */
function start(folder: string, code: string, env: NodeJS.ProcessEnv): Promise<string> {
  writeFileSync(join(folder, "server.ts"), code);
  const child = spawn(process.execPath, ["server.ts"], { cwd: folder, env: { ...process.env, ...env } });
  onTestFinished(() => void child.kill("SIGKILL"));
  let problems = "";
  child.stderr.on("data", (data: Buffer) => (problems += data.toString()));
  return new Promise((resolve, reject) => {
    createInterface(child.stdout).once("line", resolve);
    child.once("exit", () => reject(new Error(`The program ended: ${problems}`)));
  });
}

const json = { method: "POST", headers: { "content-type": "application/json" } };

describe("the README", () => {
  it.each(["README.md", "docs/quick-start.md"])("has its program in %s as it is compiled with the tests", (path) => {
    expect(examplesOf(path).find(({ language }) => language === "ts")?.code).toBe(program);
  });

  it("has a program that asks, and pays after a yes", async () => {
    const gemini = await startScriptedGemini({
      rules: [{ when: /Pay/, say: [call("pay", { amount: 50, recipient: "Hanako" })] }, { say: [text("Paid.")] }],
    });
    onTestFinished(() => gemini.close());
    // Another program may use the port of the README.
    const anyPort = program.replace("port: 3001", "port: 0");
    const env = { GOOGLE_API_KEY: "none", GOOGLE_GEMINI_BASE_URL: gemini.url };
    const line = await start(projectFolder(), anyPort, env);
    const url = /http:\S+(?=\/stream)/.exec(line)?.[0] ?? "";

    // As in docs/quick-start.md, "Try it without a page".
    const messages = [{ id: "m1", role: "user", parts: [{ type: "text", text: "Pay Hanako 50." }] }];
    const reply = await fetch(`${url}/stream`, { ...json, body: JSON.stringify({ id: "c1", messages }) });
    const approvalId = /"approvalId":"([^"]+)"/.exec(await reply.text())?.[1] ?? "";
    expect(approvalId).not.toBe("");
    await fetch(`${url}/approvals/${approvalId}`, { ...json, body: JSON.stringify({ approved: true }) });
    const settled = async () => {
      const chat = await (await fetch(`${url}/stream/c1/messages`)).text();
      expect(chat).toContain('"output":{"paid":50,"to":"Hanako"}');
      expect(chat).toContain("Paid.");
    };
    await vi.waitFor(settled, { timeout: 20_000 });
  });
});
