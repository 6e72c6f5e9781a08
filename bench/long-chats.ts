/**
 * Long chats on disk: reading the last messages, and the time of a turn, as the chat grows; and what a turn takes on disk
 * while its chunks are kept and afterwards.
 */
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "adk-stream-protocol/stores/sqlite";
import type { NewLogEntry, Store } from "adk-stream-protocol/stores";
import type { UIMessage } from "ai";
import { alternate, median, quantiles, ratio, thousands, verdict } from "./figures.ts";
import { startServer } from "./server-process.ts";

const lengths = [10, 100, 1000, 10_000];
const pageRounds = 100;
const turnRounds = 40;
const foldedTurns = 500;

/** Measures and prints. */
export async function longChats(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "adk-stream-long-"));
  const database = join(directory, "bench.db");
  const store = sqliteStore({ path: database });
  for (const turns of lengths) await fill(store, `chat-${turns}`, turns);
  await store.close();
  const gemini = await startServer("plain-gemini");
  const server = await startServer("bridge", { database, gemini: gemini.url });
  try {
    const pages = await alternate(
      pageRounds,
      Object.fromEntries(lengths.map((turns) => [turns, () => readPage(server.url, `chat-${turns}`)])),
      { warmUp: 20 },
    );
    const turns = await alternate(
      turnRounds,
      {
        100: (round) => takeTurn(server.url, "chat-100", round),
        1000: (round) => takeTurn(server.url, "chat-1000", round),
      },
      { warmUp: 10 },
    );
    console.log("\nLong chats on disk, milliseconds p50 / p99");
    const shortest = pages["10"] ?? [];
    for (const length of lengths)
      console.log(
        `  last 50 messages of ${String(length).padStart(6)} turns  ${quantiles(pages[length] ?? [])}   ${ratio(median(pages[length] ?? []), median(shortest))} × 10 turns`,
      );
    const growth = median(pages["10000"] ?? []) / median(pages["1000"] ?? []);
    console.log(verdict("10,000 turns ≤ 1.5 × 1,000 turns", growth <= 1.5));
    for (const length of [100, 1000])
      console.log(`  turn after ${String(length).padStart(5)} turns          ${quantiles(turns[length] ?? [])}`);
    const slower = median(turns["1000"] ?? []) / median(turns["100"] ?? []);
    console.log(`  turn 1,000 ÷ turn 100            ${slower.toFixed(2)}`);
    console.log(verdict("≤ 1.1", slower <= 1.1));
    const [kept, folded] = await bytesPerTurn(join(directory, "folded.db"));
    console.log(
      `  bytes on disk per turn, with chunks ${thousands(kept)}, without ${thousands(folded)}   ${ratio(folded, kept)} ×`,
    );
  } finally {
    await server.stop();
    await gemini.stop();
    await rm(directory, { recursive: true });
  }
}

/** What a turn with a reply of 60 pieces takes on disk: with its chunks, and after they were removed. */
async function bytesPerTurn(path: string): Promise<[number, number]> {
  let now = 0;
  const store = sqliteStore({ path, now: () => now });
  await fill(store, "chat", foldedTurns, 60);
  const size = async () => {
    const db = new DatabaseSync(path);
    db.exec("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
    db.close();
    return (await stat(path)).size / foldedTurns;
  };
  await store.close();
  const kept = await size();
  now = 1;
  const later = sqliteStore({ path, now: () => now });
  while ((await later.trimChunks({ before: 1, limit: 100 })) > 0);
  await later.close();
  return [kept, await size()];
}

/** Writes a chat with so many turns, as the bridge would have. */
async function fill(store: Store, name: string, turns: number, pieces = 1): Promise<void> {
  const chat = await store.openChat({ owner: "local", name, appName: "bench" });
  const user = (turn: number) => `Question ${turn}, with a few words more.`;
  const assistant = (turn: number) => `Answer ${turn}: ${"some words of an answer ".repeat(10)}`;
  for (let turn = 0; turn < turns; turn++) {
    const [id, reply] = [`turn-${turn}`, `msg-${turn}`];
    const message = (key: string, role: "user" | "assistant", text: string): UIMessage => ({
      id: key,
      role,
      parts: [{ type: "text", text }],
    });
    await store.append(chat.id, [
      { turn: id, kind: "begin", reply, message: message(`user-${turn}`, "user", user(turn)) },
      { turn: id, kind: "chunk", chunk: { type: "start", messageId: reply } },
      { turn: id, kind: "chunk", chunk: { type: "start-step" } },
      { turn: id, kind: "chunk", chunk: { type: "text-start", id: "text" } },
      ...deltasOf(assistant(turn), pieces).map((delta): NewLogEntry => ({
        turn: id,
        kind: "chunk",
        chunk: { type: "text-delta", id: "text", delta },
      })),
      { turn: id, kind: "chunk", chunk: { type: "text-end", id: "text" } },
      { turn: id, kind: "chunk", chunk: { type: "finish-step" } },
      { turn: id, kind: "end", message: message(reply, "assistant", assistant(turn)) },
    ]);
    if (turns > 1000) continue;
    const events = [
      { author: "user", content: { role: "user", parts: [{ text: user(turn) }] } },
      { author: "bench", content: { role: "model", parts: [{ text: assistant(turn) }] } },
    ];
    for (const [index, event] of events.entries()) {
      const key = `event-${turn}-${index}`;
      const stored = { id: key, invocationId: id, timestamp: 1000 + turn, actions: {}, ...event };
      await store.appendEvent(chat.id, { id: key, event: stored, responses: [] });
    }
  }
}

function deltasOf(text: string, pieces: number): string[] {
  const length = Math.ceil(text.length / pieces);
  return Array.from({ length: pieces }, (_, index) => text.slice(index * length, (index + 1) * length));
}

async function readPage(url: string, chat: string): Promise<number> {
  const sent = performance.now();
  const response = await fetch(`${url}/stream/${chat}/messages?limit=50`);
  const { messages } = (await response.json()) as { messages: unknown[] };
  if (messages.length === 0) throw new Error(`There are no messages in ${chat}.`);
  return performance.now() - sent;
}

async function takeTurn(url: string, chat: string, round: number): Promise<number> {
  const sent = performance.now();
  const message = { id: `${chat}-new-${round}`, role: "user", parts: [{ type: "text", text: "hello" }] };
  const response = await fetch(`${url}/stream`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ id: chat, messages: [message] }),
  });
  const reply = await response.text();
  if (!reply.includes('"finish"')) throw new Error(`The turn failed: ${reply.slice(0, 300)}`);
  return performance.now() - sent;
}
