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
import { postgresStore } from "adk-stream-protocol/stores/postgres";
import { sqliteStore } from "adk-stream-protocol/stores/sqlite";
import { call, geminiAt, startScriptedGemini, text } from "adk-stream-protocol/testing";
import pg from "pg";
import { z } from "zod";
import { startPostgres } from "../scripts/start-postgres.ts";
import { thousands } from "./figures.ts";

const chats = 500;
const openApprovals = 100_000;
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

/** How many rows are made at once. */
const atOnce = 50;

/** A database for one measurement. */
interface Place {
  open(): Store;
  /** The bytes that our tables take. */
  size(): Promise<number>;
}

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
  const postgres = await startPostgres().catch((error: unknown) => {
    console.log(`PostgreSQL is left out: ${String(error)}`);
  });
  const places: Record<string, (name: string) => Promise<Place>> = {
    SQLite: async (name) => sqlitePlace(join(directory, `${name}.db`)),
    ...(postgres && { PostgreSQL: async (name: string) => postgresPlace(await postgres.createDatabase(name)) }),
  };
  try {
    for (const [kind, newPlace] of Object.entries(places)) {
      const begin = async (name: string) => {
        const place = await newPlace(name);
        const store = place.open();
        const bridge = await createBridge({ agent: agent(), store, logger: silentLogger, sweepMs: 0 });
        return { place, store, bridge, empty: await place.size() };
      };
      console.log(`\nScale: bytes in ${kind}`);
      for (const [name, what, words] of [
        ["replies", "a chat with one message and a reply of 40 words", "Hello there."],
        ["questions", "a chat with one open approval", "Please pay."],
      ] as const) {
        const stage = await begin(name);
        for (let chat = 0; chat < chats; chat += 1) await talk(stage.bridge, `chat-${chat}`, words);
        console.log(`  ${what.padEnd(50)} ${thousands((await bytesOf(stage)) / chats).padStart(8)}`);
      }
      await manyApprovals(await begin("many"));
    }
  } finally {
    await gemini.close();
    await postgres?.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

function sqlitePlace(path: string): Place {
  // Closing empties the write-ahead log.
  return { open: () => sqliteStore({ path }), size: async () => (await stat(path)).size };
}

async function postgresPlace(url: string): Promise<Place> {
  const size = async () => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const sql = `SELECT sum(pg_total_relation_size(pg_class.oid)) AS bytes
      FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
      WHERE nspname = 'adk_stream_protocol' AND relkind = 'r'`;
    const { rows } = await client.query<{ bytes: string }>(sql);
    await client.end();
    return Number(rows[0]?.bytes);
  };
  return { open: () => postgresStore({ url }), size };
}

interface Stage {
  place: Place;
  store: Store;
  bridge: Bridge;
  /** The bytes of the tables before anything was written. */
  empty: number;
}

/** The work that does not depend on what is due, with many calls that wait. */
async function manyApprovals(stage: Stage): Promise<void> {
  const { place, store, bridge } = stage;
  await talk(bridge, "pattern", "Please pay.");
  const [pattern] = await store.listApprovals({ state: "pending" });
  if (!pattern) throw new Error("The agent did not ask.");
  const add = async (count: number) => {
    const chat = await store.openChat({ owner: `owner-${count % 1000}`, name: `chat-${count}`, appName: "cashier" });
    const { id, owner } = chat;
    await store.holdChat(id, 60_000);
    await store.createApproval({
      ...pattern,
      ...{ id: `apr_${count}`, chat: id, session: id, owner, idempotencyKey: `key-${count}` },
      ...{ state: "pending", ttlMs: 24 * 60 * 60_000 },
    });
  };
  for (let done = 0; done < openApprovals; done += atOnce)
    await Promise.all(Array.from({ length: atOnce }, (_, index) => add(done + index)));
  /** The median: other work on the machine lengthens some runs. */
  const timed = async (work: () => Promise<unknown>, times = 9) => {
    const took: number[] = [];
    for (let run = 0; run < times; run += 1) {
      const begun = performance.now();
      await work();
      took.push(performance.now() - begun);
    }
    const [median = 0] = took.toSorted((a, b) => a - b).slice(times >> 1);
    return `${median.toFixed(1)} ms`;
  };
  console.log(`\nScale: ${thousands(openApprovals)} open approvals, each in a chat of its own`);
  console.log(`  one sweep, nothing due        ${await timed(() => bridge.sweep())}`);
  console.log(`  countOpenCalls                ${await timed(() => store.countOpenCalls())}`);
  console.log(
    `  one owner's list              ${await timed(() => bridge.approvals("owner-7", { state: "pending" }))}`,
  );
  const bytes = await bytesOf(stage);
  console.log(`  bytes of a row and its chat   ${thousands(bytes / openApprovals)}`);
  let opened: Store | undefined;
  console.log(`  opening it again              ${await timed(async () => (opened = place.open()).check(), 1)}`);
  await opened?.close();
}

async function talk(bridge: Bridge, chat: string, words: string): Promise<void> {
  const message = { id: `${chat}-1`, role: "user" as const, parts: [{ type: "text" as const, text: words }] };
  const submitted = await bridge.submit("owner", chat, { type: "message", message });
  if ("turn" in submitted) await submitted.turn.done;
}

/** What was written, after everything has been closed. */
async function bytesOf({ place, store, bridge, empty }: Stage): Promise<number> {
  await bridge.close();
  await store.close();
  return (await place.size()) - empty;
}
