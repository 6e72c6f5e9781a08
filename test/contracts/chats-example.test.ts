/** The examples of docs/chats.md. Each block of that page is a part of this file, and what the page says is checked here. */
import { readFileSync } from "node:fs";
import { LlmAgent } from "@google/adk";
import { type Bridge, type BridgeOptions, createBridge, silentLogger } from "adk-stream-protocol";
import { listen } from "adk-stream-protocol/server";
import { type Store, verifyAudit } from "adk-stream-protocol/stores";
import { memoryStore } from "adk-stream-protocol/stores/memory";
import { geminiAt, startScriptedGemini, text } from "adk-stream-protocol/testing";
import { expect, test, vi } from "vitest";

const days = 24 * 60 * 60_000;

const keepForAWhile: Partial<BridgeOptions> = {
  retention: { chatsMs: 90 * days, chunksMs: 60 * 60_000 },
};

const shortTitles: Partial<BridgeOptions> = {
  title: async (message) => {
    const [first] = message.parts;
    return first?.type === "text" ? `About ${first.text.split(" ").at(-1)}` : "A picture";
  },
};

async function titles(url: string): Promise<string[]> {
  const found: string[] = [];
  let query = "?limit=100";
  for (;;) {
    const page = (await (await fetch(`${url}/chats${query}`)).json()) as {
      chats: { title: string }[];
      cursor?: string;
    };
    found.push(...page.chats.map(({ title }) => title));
    if (page.cursor === undefined) return found;
    query = `?limit=100&cursor=${page.cursor}`;
  }
}

async function deleteForAUser(bridge: Bridge, owner: string): Promise<void> {
  for (;;) {
    const { chats } = await bridge.chats.list(owner);
    if (chats.length === 0) return;
    for (const { id } of chats) await bridge.chats.delete(owner, id);
  }
}

async function copyChat(url: string, id: string): Promise<string> {
  const file = await (await fetch(`${url}/chats/${id}/export`)).text();
  const headers = { "content-type": "application/x-ndjson" };
  const response = await fetch(`${url}/chats/import`, { method: "POST", headers, body: file });
  return ((await response.json()) as { id: string }).id;
}

async function isGenuine(store: Store, chat: string, copy: Awaited<ReturnType<Store["audit"]>>): Promise<boolean> {
  return verifyAudit(copy, await store.auditHashes(chat)) === undefined;
}

test("docs/chats.md says what chats can do", async () => {
  const gemini = await startScriptedGemini({ rules: [{ say: [text("Hello.")] }] });
  const model = geminiAt({ model: "gemini-2.5-flash", url: gemini.url });
  const store = memoryStore();
  const bridge = await createBridge({
    ...{ agent: new LlmAgent({ name: "helper", model }), store, logger: silentLogger },
    ...keepForAWhile,
    ...shortTitles,
  });
  const server = await listen({ bridge, port: 0, logger: silentLogger });
  for (const words of ["Tell me about cats", "Tell me about dogs"]) {
    const message = { id: words, role: "user" as const, parts: [{ type: "text" as const, text: words }] };
    const reply = await bridge.submit("local", `chat about ${words}`, { type: "message", message });
    if ("turn" in reply) for await (const _ of bridge.read(reply));
  }
  await vi.waitFor(async () => expect((await titles(server.url)).toSorted()).toEqual(["About cats", "About dogs"]));
  const chat = await store.findChat("local", "chat about Tell me about cats", "helper");
  await copyChat(server.url, chat?.name ?? "");
  expect(await titles(server.url)).toHaveLength(3);
  const copy = await store.audit(chat?.id ?? "");
  await deleteForAUser(bridge, "local");
  expect(await titles(server.url)).toEqual([]);
  expect(await isGenuine(store, chat?.id ?? "", copy)).toBe(true);
  await server.close();
  await bridge.close();
  await store.close();
  await gemini.close();
});

test("docs/chats.md shows examples that are compiled and run, and names files that exist", () => {
  const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
  const blocks = [...read("docs/chats.md").matchAll(/```ts\n([\s\S]*?)```/g)].map(([, block = ""]) => block);
  expect(blocks.length).toBeGreaterThan(3);
  for (const block of blocks) expect(read("test/contracts/chats-example.test.ts")).toContain(block);
  const links = [...read("docs/chats.md").matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, link = ""]) => link);
  for (const link of links) expect(() => read(`docs/${link}`), link).not.toThrow();
});
