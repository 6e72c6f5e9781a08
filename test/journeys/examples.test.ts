/** The servers of `examples/`, each started as it is and used over both wires below its mount path. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { call, type ScriptedGemini, startScriptedGemini, text } from "adk-stream-protocol/testing";
import * as ai from "ai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stockChat, toolParts, wordsOf } from "../fixtures/stock-chat.ts";
import type { World } from "../fixtures/world.ts";

const set = { PORT: "0", GOOGLE_API_KEY: "none", GOOGLE_GENAI_USE_VERTEXAI: "false" };
const before = { ...process.env };
const folder = mkdtempSync(join(tmpdir(), "examples-"));
let gemini: ScriptedGemini;
const servers = new Map<string, Server>();

beforeAll(async () => {
  gemini = await startScriptedGemini({
    rules: [
      {
        when: ({ responses, fresh }) => !fresh && responses.length > 0,
        say: ({ responses }) => [text(`It is paid.${/\u202e/.test(JSON.stringify(responses)) ? "\u001b[2J" : ""}`)],
      },
      { when: /hidden/i, say: [call("pay", { amount: 50, recipient: "Hana\u202eko" })] },
      { when: /pay/i, say: [call("pay", { amount: 50, recipient: "Hanako" })] },
    ],
  });
  Object.assign(process.env, set, { GOOGLE_GEMINI_BASE_URL: gemini.url, CHATS: join(folder, "chats.db") });
});

afterAll(async () => {
  for (const server of servers.values()) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  const { closeBridge } = await import("../../examples/bridge.ts");
  await closeBridge();
  await gemini.close();
  for (const name of [...Object.keys(set), "GOOGLE_GEMINI_BASE_URL", "CHATS"]) {
    if (before[name] === undefined) delete process.env[name];
    else process.env[name] = before[name];
  }
  rmSync(folder, { recursive: true });
});

/** Starts an example, and returns where it is. */
async function originOf(name: string): Promise<string> {
  const server = servers.get(name) ?? ((await import(`../../examples/${name}/server.ts`)) as { server: Server }).server;
  servers.set(name, server);
  if (!server.listening) await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe.each(["node-http", "express", "hono", "fastify"])("the example for %s", (name) => {
  test.each(["SSE", "chat wire", "AI SDK wire"] as const)("asks and pays after a yes over %s", async (wire) => {
    const world = { server: { url: `${await originOf(name)}/agent` } } as World;
    const chat = `${name}-${wire}`.replaceAll(" ", "-");
    const page = stockChat(ai, world, { wire, chat });
    await page.chat.sendMessage({ text: "Please pay Hanako." });
    const [part] = toolParts(ai, (await page.settled()).at(-1) ?? { id: "", role: "assistant", parts: [] });
    expect(part).toMatchObject({ state: "approval-requested", input: { amount: 50, recipient: "Hanako" } });
    await page.chat.addToolApprovalResponse({ id: part?.approval?.id ?? "", approved: true });
    await page.shows((messages) =>
      /It is paid/.test(wordsOf(messages.at(-1) ?? { id: "", role: "assistant", parts: [] })),
    );
    const messages = await page.settled();
    expect(toolParts(ai, messages.at(-1) ?? { id: "", role: "assistant", parts: [] })).toMatchObject([
      { state: "output-available", output: { paid: 50, to: "Hanako" } },
    ]);
    expect(page.errors).toEqual([]);
    await ai.validateUIMessages({ messages });
    const kept = await fetch(`${world.server.url}/stream/${chat}/messages`);
    expect(await kept.json()).toMatchObject({ messages: [{ role: "user" }, { role: "assistant" }] });
  });

  test("has its page beside the agent", async () => {
    const origin = await originOf(name);
    expect(await (await fetch(origin)).text()).toContain("Your page");
    expect(await (await fetch(`${origin}/agent/health`)).json()).toMatchObject({ ok: true });
    expect((await fetch(`${origin}/agent/nothing`)).status).toBe(404);
  });
});

describe("the terminal client", () => {
  /** Runs it with these lines as its input, and returns what it prints. */
  async function run(args: readonly string[], lines: readonly string[]) {
    const file = join(import.meta.dirname, "../../examples/terminal/chat.ts");
    const client = spawn(process.execPath, [file, ...args], { stdio: ["pipe", "pipe", "pipe"] });
    client.stdin.end(lines.map((line) => `${line}\n`).join(""));
    let [output, errors] = ["", ""];
    client.stdout.on("data", (piece) => (output += String(piece)));
    client.stderr.on("data", (piece) => (errors += String(piece)));
    const [code] = (await once(client, "close")) as [number];
    return { code, output, errors };
  }

  test("chats, asks until the answer is yes or no, and shows what cannot be seen", async () => {
    const url = `${await originOf("express")}/agent`;
    const { output, code } = await run([url], ["Please pay someone hidden.", "maybe", "yes"]);
    expect(output.replace(/^Chat .*\n/, "")).toBe(`
you: Please pay someone hidden.

The agent wants to run pay with
{
  "amount": 50,
  "recipient": "Hana[U+202E]ko"
}
Approve it? yes or no: maybe
Approve it? yes or no: yes
result: {"paid":50,"to":"Hana[U+202E]ko"}
agent: It is paid.[U+001B][2J

you:${" "}
`);
    expect(code).toBe(0);
  });

  test("leaves a question open at the end of its input, and asks it again in the same chat", async () => {
    const url = `${await originOf("express")}/agent`;
    const first = await run([url], ["Please pay Hanako."]);
    expect(first.output).toMatch(/Approve it\? yes or no: \nThe question stays open\.\n$/);
    const [, chat = ""] = /^Chat (\S+)/.exec(first.output) ?? [];
    const second = await run([url, chat], ["no"]);
    expect(second.output).toContain("Approve it? yes or no: no\nresult: not done\nagent: It is paid.");
  });

  test("ends with a sentence where there is no agent", async () => {
    const { code, errors } = await run([await originOf("express")], ["hello"]);
    expect([code, errors]).toEqual([
      1,
      expect.stringMatching(/^The chat has ended: There is no agent at http:.*\.\n$/),
    ]);
  });
});
