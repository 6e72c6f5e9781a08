/**
 * A neighbour's requests while another owner does its worst: bodies that are held open, reads of large chats, attaches
 * without end, responses with thousands of calls. The neighbour writes a short message and reads its messages, one request
 * at a time. The figure is its p99 divided by its p99 alone, in the same run. The longest block is how long the event loop
 * of the server did not come round; the target is for the time in which it worked, because on a busy machine a process may
 * stand still for other reasons.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import type { AttackName } from "./attacks.ts";
import type { Block } from "./longest-block.ts";
import { quantile, quantiles, ratio, verdict } from "./figures.ts";
import { type ServerProcess, startServer } from "./server-process.ts";

const rounds = 3;
/** How long the neighbour works in each round, and how long an attack goes on before. */
const [workMs, leadMs] = [2000, 1000];
/** The turns of the long chat. */
const turns = 1000;
const maxRatio = 3;
const maxBlockMs = 50;

const attacks: readonly AttackName[] = ["held bodies", "large reads", "attaches", "many calls"];

/** Measures and prints. */
export async function neighbour(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "adk-stream-bench-"));
  const gemini = await startServer("scripted-gemini");
  const server = await startServer("owners", { gemini: gemini.url, database: join(directory, "a.db") });
  await prepare(server.url);

  const times = new Map<AttackName | "alone", number[]>();
  const blocks = new Map<AttackName | "alone", Block[]>();
  const add = <Key, Value>(map: Map<Key, Value[]>, key: Key, ...values: Value[]) =>
    map.set(key, [...(map.get(key) ?? []), ...values]);
  const longest = (name: AttackName | "alone", kind: keyof Block) =>
    Math.max(...(blocks.get(name) ?? []).map((block) => block[kind]));
  for (let round = 0; round < rounds; round++)
    for (const name of ["alone", ...attacks] as const) {
      const { measured, block } = await measure(server, name === "alone" ? undefined : name);
      add(times, name, ...measured);
      add(blocks, name, block);
    }
  await server.stop();
  await gemini.stop();
  await rm(directory, { recursive: true });

  const p99 = (name: AttackName | "alone") => quantile(times.get(name) ?? [], 0.99);
  console.log("\nA neighbour's requests, ms (p50 / p99), and the longest block of the event loop, ms");
  for (const name of ["alone", ...attacks] as const) {
    const block = `${longest(name, "cpu").toFixed(0)} of work, ${longest(name, "wall").toFixed(0)} by the clock`;
    const against = `${ratio(p99(name), p99("alone"))} × alone`;
    console.log(`  ${name.padEnd(14)} ${quantiles(times.get(name) ?? [])}   ${against}   block ${block}`);
  }
  for (const name of attacks) {
    console.log(verdict(`≤ ${maxRatio} × alone, ${name}`, p99(name) <= maxRatio * p99("alone")));
    console.log(verdict(`block ≤ ${maxBlockMs} ms of work, ${name}`, longest(name, "cpu") <= maxBlockMs));
  }
}

/** Writes the chats that the attacks read: one with a large output and many words, one with many turns. */
async function prepare(url: string): Promise<void> {
  await say(url, "mallory", "large", "dump");
  await say(url, "mallory", "large", "talk");
  for (let turn = 0; turn < turns; turn++) await say(url, "mallory", "long", "hello");
  for (let turn = 0; turn < 50; turn++) await say(url, "alice", "warm", "hello");
}

async function measure(
  server: ServerProcess,
  attack: AttackName | undefined,
): Promise<{ measured: number[]; block: Block }> {
  const attacker = attack && (await begin(server.url, attack));
  await server.startBlock();
  if (attack) await sleep(leadMs);
  const measured: number[] = [];
  const chat = crypto.randomUUID();
  const end = performance.now() + workMs;
  while (performance.now() < end) {
    for (const request of [() => say(server.url, "alice", chat, "hello"), () => read(server.url, "alice", chat)]) {
      const start = performance.now();
      await request();
      measured.push(performance.now() - start);
    }
  }
  const block = await server.stopBlock();
  if (attacker) await stop(attacker);
  // The server ends what the attack has begun.
  await sleep(attack ? leadMs : 0);
  return { measured, block };
}

async function begin(url: string, attack: AttackName): Promise<ChildProcess> {
  const child = fork(new URL("./attacks.ts", import.meta.url), [JSON.stringify({ url, attack })], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  await once(child, "message");
  return child;
}

async function stop(child: ChildProcess): Promise<void> {
  const exited = once(child, "exit");
  child.disconnect();
  await exited;
}

async function say(url: string, owner: string, id: string, words: string): Promise<void> {
  const response = await fetch(`${url}/stream`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-owner": owner },
    body: JSON.stringify({ id, messages: [{ role: "user", parts: [{ type: "text", text: words }] }] }),
  });
  const reply = await response.text();
  if (!reply.includes("[DONE]")) throw new Error(`The neighbour's message was refused: ${response.status} ${reply}`);
}

async function read(url: string, owner: string, id: string): Promise<void> {
  const response = await fetch(`${url}/stream/${id}/messages`, { headers: { "x-owner": owner } });
  if (!response.ok) throw new Error(`The neighbour's read was refused: ${response.status}`);
  await response.arrayBuffer();
}
