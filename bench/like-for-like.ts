/**
 * Ours against `/run_sse` of ADK's own server, each in a process of its own, with the same agent and the same model in a
 * third process: both in memory, both on SQLite, both on PostgreSQL. In each round every server is measured once.
 *   - stream: a reply of many small deltas, deltas per second, from sending the message to its end
 *   - answer: from sending the approval to the output of the tool
 *   - bytes: what a client reads for one delta
 */
import { mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import type { UIMessageChunk } from "ai";
import { startPostgres } from "../scripts/start-postgres.ts";
import { approvalAnswer } from "./approval-answer.ts";
import { alternate, goal, median, quantiles, thousands } from "./figures.ts";
import { buildPeerSqlite, installPeers } from "./peers.ts";
import { newSession, post, run } from "./run-sse-client.ts";
import { type ServerProcess, startServer } from "./server-process.ts";
import { sayFrame, SocketClient } from "./socket-client.ts";
import { answerOverRunSse, answerOverSocket, toMessage } from "./ws-approvals.ts";
import { readOverSocket, readRunSse } from "./ws-streams.ts";
import { deltas } from "./words.ts";

const streamRounds = 7;
const answerRounds = 80;

interface Place {
  name: string;
  ours: object;
  peer: object;
  /** Ours ÷ `/run_sse`, the time from the answer to the output. */
  answerGoals: { sse: number; live: number };
}

/** Measures and prints. */
export async function likeForLike(): Promise<void> {
  if (!installPeers()) return;
  const directory = await mkdtemp(join(tmpdir(), "adk-stream-bench-"));
  const gemini = await startServer("scripted-gemini");
  const postgres = await startPostgres().catch((error: unknown) => {
    console.log(`PostgreSQL is left out: ${String(error)}`);
  });
  try {
    const inMemory = { name: "memory", ours: {}, peer: {}, answerGoals: { sse: 0.8, live: 0.4 } };
    await measure(inMemory, gemini.url);
    if (postgres) {
      const ours = { postgres: await postgres.createDatabase("ours") };
      const peer = { sessions: await postgres.createDatabase("peer") };
      await measure({ name: "PostgreSQL", ours, peer, answerGoals: { sse: 0.5, live: 0.5 } }, gemini.url);
    }
    if (buildPeerSqlite()) {
      const ours = { database: join(directory, "ours.db") };
      const peer = { sessions: `sqlite://${join(directory, "peer.db")}` };
      await measure({ name: "SQLite", ours, peer, answerGoals: { sse: 0.2, live: 0.2 } }, gemini.url);
    } else console.log("SQLite is left out: the driver of ADK's sessions could not be built.");
  } finally {
    await gemini.stop();
    await postgres?.stop();
    await rm(directory, { recursive: true });
  }
}

async function measure({ name, ours, peer, answerGoals }: Place, gemini: string): Promise<void> {
  const bridge = await startServer("bridge", { gemini, ...ours });
  const runSse = await startServer("run-sse", { gemini, ...peer });
  let socket: SocketClient | undefined;
  try {
    const cpu: Record<string, number[]> = {};
    const candidate = (key: string, server: ServerProcess, read: (round: number) => Promise<number>) => ({
      [key]: async (round: number) => {
        const before = await server.cpuTime();
        const took = await read(round);
        (cpu[key] ??= []).push(((await server.cpuTime()) - before) / deltas);
        return (deltas * 1000) / took;
      },
    });
    const streams = await alternate(
      streamRounds,
      {
        ...candidate("SSE", bridge, (round) => readStream(bridge.url, `s-${round}`)),
        ...candidate("/live", bridge, (round) => readOverSocket(bridge.url, sayFrame(`l-${round}`, "talk"))),
        ...candidate("/run_sse", runSse, () => readRunSse(runSse.url)),
      },
      { warmUp: 3 },
    );
    const client = (socket = await SocketClient.open(bridge.url));
    const answers = await alternate(
      answerRounds,
      {
        SSE: (round) => answerStream(bridge.url, `a-${round}`),
        "/live": (round) => answerOverSocket(client, `b-${round}`, toMessage),
        "/run_sse": () => answerOverRunSse(runSse.url),
      },
      { warmUp: 20 },
    );
    console.log(`\nLike for like, ${name} (load ${loadavg()[0]?.toFixed(1)})`);
    for (const key of ["SSE", "/live", "/run_sse"])
      console.log(
        `  ${key.padEnd(9)} ${thousands(median(streams[key] ?? []))} deltas/s, CPU ${median(cpu[key] ?? []).toFixed(0)} µs each   answer → output ${quantiles(answers[key] ?? [])} ms`,
      );
    const against = (of: Record<string, number[]>, key: string) => median(of[key] ?? []) / median(of["/run_sse"] ?? []);
    console.log(goal("deltas/s over SSE ÷ /run_sse", against(streams, "SSE"), { least: 1.5 }));
    console.log(goal("deltas/s over /live ÷ /run_sse", against(streams, "/live"), { least: 2.5 }));
    console.log(goal("answer → output over SSE ÷ /run_sse", against(answers, "SSE"), { most: answerGoals.sse }));
    console.log(goal("answer → output over /live ÷ /run_sse", against(answers, "/live"), { most: answerGoals.live }));
    const bytes = (await bytesOf(bridge.url)) / (await bytesOfRunSse(runSse.url));
    console.log(goal("bytes per delta ÷ /run_sse", bytes, { most: 0.2 }));
  } finally {
    await socket?.close();
    await bridge.stop();
    await runSse.stop();
  }
}

async function send(url: string, body: object, onEvent: (event: string) => void): Promise<void> {
  const response = await post(`${url}/stream`, body);
  let rest = "";
  response.setEncoding("utf8");
  for await (const piece of response) {
    const events = (rest + String(piece)).split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) onEvent(event);
  }
}

const says = (chat: string, text: string) => ({
  id: chat,
  messages: [{ role: "user", parts: [{ type: "text", text }] }],
});

async function readStream(url: string, chat: string): Promise<number> {
  let count = 0;
  const began = performance.now();
  await send(url, says(chat, "talk"), (event) => void (count += event.includes('"text-delta"') ? 1 : 0));
  if (count !== deltas) throw new Error(`Only ${count} of ${deltas} deltas came.`);
  return performance.now() - began;
}

async function answerStream(url: string, chat: string): Promise<number> {
  const question: UIMessageChunk[] = [];
  await send(url, says(chat, "pay"), (event) => {
    const [, json] = /^data: (\{.*\})$/m.exec(event) ?? [];
    if (json !== undefined) question.push(JSON.parse(json) as UIMessageChunk);
  });
  let cameAt = 0;
  const clicked = performance.now();
  await send(url, approvalAnswer(chat, question), (event) => {
    if (cameAt === 0 && event.includes('"tool-output-available"')) cameAt = performance.now();
  });
  if (cameAt === 0) throw new Error("The reply has no tool output.");
  return cameAt - clicked;
}

async function bytesOf(url: string): Promise<number> {
  let bytes = 0;
  await send(url, says("bytes", "talk"), (event) => void (bytes += Buffer.byteLength(event) + 2));
  return bytes / deltas;
}

async function bytesOfRunSse(url: string): Promise<number> {
  let bytes = 0;
  await run(url, await newSession(url), { text: "talk" }, (event) => void (bytes += Buffer.byteLength(event) + 2));
  return bytes / deltas;
}
