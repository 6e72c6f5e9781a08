/**
 * A thousand people answer within one second: the time from sending `POST /approvals/:id` to its acknowledgement, which
 * says that the decision is on disk. The server runs the approved calls and asks the model meanwhile.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import { startPostgres } from "../scripts/start-postgres.ts";
import { quantile, quantiles, verdict } from "./figures.ts";
import { questionsIn, say, send } from "./http-client.ts";
import { type ServerProcess, startServer } from "./server-process.ts";

const answers = 1000;
const maxMs = 500;

/** Measures and prints. */
export async function answersAtOnce(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "adk-stream-bench-"));
  const postgres = await startPostgres();
  const gemini = await startServer("scripted-gemini", { short: true });
  const candidates: Record<string, () => Promise<ServerProcess>> = {
    PostgreSQL: () => startServer("postgres-node", { gemini: gemini.url, database: postgres.url }),
    SQLite: () => startServer("bridge", { gemini: gemini.url, database: join(directory, "a.db") }),
  };
  try {
    console.log(`\n${answers} answers in one second on one node, milliseconds to acknowledgement p50 / p99`);
    for (const [name, start] of Object.entries(candidates)) {
      const server = await start();
      const { times, sendingMs } = await answerAll(server.url, await askAll(server.url));
      await server.stop();
      const refused = times.filter((ms) => ms === Infinity).length;
      const sending = `sent within ${(sendingMs / 1000).toFixed(2)} s, ${refused} refused`;
      console.log(`  ${name.padEnd(10)}  ${quantiles(times)}   ${sending}`);
      console.log(verdict(`p99 ≤ ${maxMs} ms on ${name}`, quantile(times, 0.99) <= maxMs));
    }
  } finally {
    await gemini.stop();
    await postgres.stop();
    await rm(directory, { recursive: true });
  }
}

/** Makes the agent ask in as many chats, and returns the ids of the questions. */
async function askAll(url: string): Promise<string[]> {
  const questions: string[] = [];
  let next = 0;
  const worker = async () => {
    while (next < answers) {
      next += 1;
      questions.push(...questionsIn(await say(url, `chat-${next}`, "pay")));
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  if (questions.length < answers) throw new Error(`The agent asked only ${questions.length} times.`);
  return questions;
}

async function answerAll(url: string, questions: readonly string[]): Promise<{ times: number[]; sendingMs: number }> {
  const begun = performance.now();
  const answered: Promise<number>[] = [];
  for (const [index, id] of questions.entries()) {
    const wait = begun + index - performance.now();
    if (wait > 1) await delay(wait);
    const sent = performance.now();
    const acknowledged = send("POST", `${url}/approvals/${id}`, { approved: true }).then(
      () => performance.now() - sent,
    );
    // A refused answer was not acknowledged, however long one waits.
    answered.push(acknowledged.catch(() => Infinity));
  }
  const sendingMs = performance.now() - begun;
  return { times: await Promise.all(answered), sendingMs };
}
