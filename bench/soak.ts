/**
 * Mixed load on two nodes for a long time, with a look at their memory every few seconds: `npm run bench -- soak --minutes
 * 480`. People come with new chats over SSE and over `/live`, talk, approve and deny, and leave; most chats are deleted. The
 * memory is flat if the nodes need no more in the last quarter than in the second one. Runs only when it is asked for.
 */
import { performance } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import { startPostgres } from "../scripts/start-postgres.ts";
import { median, thousands, verdict } from "./figures.ts";
import { questionsIn, say, send } from "./http-client.ts";
import { type Memory, type ServerProcess, startServer } from "./server-process.ts";
import { isDone, sayFrame, SocketClient } from "./socket-client.ts";

const people = 24;
const looks = 40;
/** What garbage collection leaves differs by a few percent from look to look. */
const maxGrowth = 1.1;

interface Counts {
  turns: number;
  decisions: number;
  failed: number;
}

/** Measures and prints. */
export async function soak(minutes: number): Promise<void> {
  const postgres = await startPostgres();
  const gemini = await startServer("scripted-gemini", { short: true });
  const options = { gemini: gemini.url, database: postgres.url };
  const servers = [await startServer("postgres-node", options), await startServer("postgres-node", options)];
  const until = performance.now() + minutes * 60_000;
  const counts: Counts = { turns: 0, decisions: 0, failed: 0 };
  const memory: Memory[] = [];
  console.log(`\nSoak: ${people} people on two nodes for ${minutes} minutes`);
  try {
    const load = Promise.all(Array.from({ length: people }, (_, person) => live(servers, person, until, counts)));
    for (let look = 1; look <= looks; look += 1) {
      await delay((minutes * 60_000) / (looks + 1));
      const each = await Promise.all(servers.map((server) => server.memory()));
      const sum = (kind: keyof Memory) => each.reduce((total, value) => total + value[kind], 0);
      memory.push({ rss: sum("rss"), heap: sum("heap") });
      if (look % 4 === 0) console.log(`  ${toLine(memory.at(-1))}  turns ${thousands(counts.turns)}`);
    }
    await load;
    report(memory, counts);
  } finally {
    for (const server of [...servers, gemini]) await server.stop();
    await postgres.stop();
  }
}

function report(memory: readonly Memory[], { turns, decisions, failed }: Counts): void {
  console.log(`  ${turns} turns, ${decisions} decisions, ${failed} requests failed`);
  const quarter = looks / 4;
  for (const kind of ["heap", "rss"] as const) {
    const of = (from: number) => median(memory.slice(from, from + quarter).map((each) => each[kind]));
    const growth = of(3 * quarter) / of(quarter);
    console.log(`  ${kind}: last quarter ÷ second quarter ${growth.toFixed(2)}`);
    console.log(verdict(`${kind} ≤ ${maxGrowth}`, growth <= maxGrowth));
  }
  console.log(verdict("no request failed", failed === 0));
}

/** One person after the other, each with a chat of its own, at any of the nodes. */
async function live(servers: readonly ServerProcess[], person: number, until: number, counts: Counts): Promise<void> {
  for (let visit = 0; performance.now() < until; visit += 1) {
    const chat = `soak-${person}-${visit}`;
    const url = () => servers[Math.floor(Math.random() * servers.length)]?.url ?? "";
    try {
      if (visit % 3 === 0) await talkOverSocket(url(), chat, counts);
      else await talkOverHttp(url, chat, visit, counts);
      if (visit % 4 !== 0) await send("DELETE", `${url()}/chats/${chat}`);
    } catch (error) {
      counts.failed += 1;
      if (counts.failed <= 5) console.log(`  ${String(error)}`);
    }
    await delay(50);
  }
}

async function talkOverHttp(url: () => string, chat: string, visit: number, counts: Counts): Promise<void> {
  await say(url(), chat, "hello");
  for (const id of questionsIn(await say(url(), chat, "pay"))) {
    await send("POST", `${url()}/approvals/${id}`, { approved: visit % 2 === 0 });
    counts.decisions += 1;
  }
  await say(url(), chat, "hello");
  await send("GET", `${url()}/stream/${chat}/messages`);
  counts.turns += 3;
}

async function talkOverSocket(url: string, chat: string, counts: Counts): Promise<void> {
  const client = await SocketClient.open(url);
  for (let turn = 0; turn < 3; turn += 1) {
    const reply = client.until(isDone);
    client.send(sayFrame(chat, "hello"));
    await reply;
    counts.turns += 1;
  }
  await client.close();
}

function toLine(memory: Memory | undefined): string {
  const megabytes = (bytes = 0) => `${(bytes / 2 ** 20).toFixed(0).padStart(5)} MiB`;
  return `heap ${megabytes(memory?.heap)}, rss ${megabytes(memory?.rss)}`;
}
