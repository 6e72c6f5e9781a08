/** The servers of `examples/`, each started as it is and used over both wires below its mount path. */
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
      { when: ({ responses, fresh }) => !fresh && responses.length > 0, say: [text("It is paid.")] },
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
