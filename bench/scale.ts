/**
 * What chats and approvals cost on disk, and what the regular work of a server costs with many of them: the figures of
 * "Scale, on paper" in docs/operations.md. Real turns of a real bridge make the rows; the many are copies of one.
 */
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { FunctionTool, LlmAgent, LogLevel, setLogLevel } from "@google/adk";
import { type Bridge, createBridge, silentLogger } from "adk-stream-protocol";
import type { Store } from "adk-stream-protocol/stores";
import { sqliteStore } from "adk-stream-protocol/stores/sqlite";
import { call, geminiAt, startScriptedGemini, text } from "adk-stream-protocol/testing";
import { z } from "zod";
import { thousands } from "./figures.ts";

const chats = 500;
const openApprovals = 20_000;
/** A reply of 40 words, as short replies of a model are. */
const reply = "The quick brown fox jumps over the lazy dog again. ".repeat(4);

const tools = [
  new FunctionTool({
    name: "pay",
    description: "Pays a person.",
    parameters: z.object({ amount: z.number(), recipient: z.string(), purpose: z.string() }),
    requireConfirmation: true,
    execute: ({ amount }) => ({ paid: amount }),
  }),
];

/** Measures and prints. */
export async function scale(): Promise<void> {
  setLogLevel(LogLevel.ERROR);
  const directory = await mkdtemp(join(tmpdir(), "adk-stream-scale-"));
  const gemini = await startScriptedGemini({
    rules: [
      { when: /pay/, say: [call("pay", { amount: 50, recipient: "Hanako", purpose: "The invoice of October" })] },
      { say: [text(reply)] },
    ],
    maxRequests: 1,
  });
  const agent = () =>
    new LlmAgent({
      name: "cashier",
      model: geminiAt({ model: "gemini-2.5-flash", url: gemini.url }),
      instruction: "Help.",
      tools,
    });
  const open = async (name: string) => {
    const path = join(directory, name);
    const store = sqliteStore({ path });
    return { path, store, bridge: await createBridge({ agent: agent(), store, logger: silentLogger, sweepMs: 0 }) };
  };
  try {
    console.log("\nScale: bytes in SQLite");
    for (const [what, words] of [
      ["a chat with one message and a reply of 40 words", "Hello there."],
      ["a chat with one open approval", "Please pay."],
    ] as const) {
      const { path, store, bridge } = await open(`${words}.db`);
      for (let chat = 0; chat < chats; chat += 1) await talk(bridge, `chat-${chat}`, words);
      const kept = await bytesOf(path, store, bridge);
      console.log(`  ${what.padEnd(50)} ${thousands(kept / chats).padStart(8)}`);
    }
    await manyApprovals(await open("many.db"));
  } finally {
    await gemini.close();
    await rm(directory, { recursive: true, force: true });
  }
}

/** The work that does not depend on what is due, with many calls that wait. */
async function manyApprovals({ path, store, bridge }: { path: string; store: Store; bridge: Bridge }): Promise<void> {
  await talk(bridge, "pattern", "Please pay.");
  const [pattern] = await store.listApprovals({ state: "pending" });
  if (!pattern) throw new Error("The agent did not ask.");
  for (let count = 0; count < openApprovals; count += 1) {
    const chat = await store.openChat({ owner: `owner-${count % 1000}`, name: `chat-${count}`, appName: "cashier" });
    const { id, owner } = chat;
    await store.createApproval({
      ...pattern,
      ...{ id: `apr_${count}`, chat: id, session: id, owner, idempotencyKey: `key-${count}` },
      ...{ state: "pending", ttlMs: 24 * 60 * 60_000 },
    });
  }
  const timed = async (work: () => Promise<unknown>) => {
    const begun = performance.now();
    await work();
    return `${(performance.now() - begun).toFixed(1)} ms`;
  };
  console.log(`\nScale: ${thousands(openApprovals)} open approvals, each in a chat of its own`);
  console.log(`  one sweep, nothing due        ${await timed(() => bridge.sweep())}`);
  console.log(`  countOpenCalls                ${await timed(() => store.countOpenCalls())}`);
  console.log(
    `  one owner's list              ${await timed(() => bridge.approvals("owner-7", { state: "pending" }))}`,
  );
  const bytes = await bytesOf(path, store, bridge);
  console.log(`  bytes of a row and its chat   ${thousands(bytes / openApprovals)}`);
  let opened: Store | undefined;
  console.log(`  opening the file again        ${await timed(async () => (opened = sqliteStore({ path })))}`);
  await opened?.close();
}

async function talk(bridge: Bridge, chat: string, words: string): Promise<void> {
  const message = { id: `${chat}-1`, role: "user" as const, parts: [{ type: "text" as const, text: words }] };
  const submitted = await bridge.submit("owner", chat, { type: "message", message });
  if ("turn" in submitted) await submitted.turn.done;
}

/** The size of the file after everything has been closed, which empties the write-ahead log. */
async function bytesOf(path: string, store: Store, bridge: Bridge): Promise<number> {
  await bridge.close();
  await store.close();
  return (await stat(path)).size;
}
