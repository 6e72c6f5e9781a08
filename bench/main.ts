/**
 * How fast it is, as ratios measured in one run: absolute numbers say more about the machine than about us.
 *
 *   npm run bench
 *
 * Streams: one reply of many small text deltas, read to its end by `fetch`.
 *   - ours: the whole way from the model's wire through ADK and the log on disk to the reader
 *   - ours, from the log: a reader that resumes a turn whose chunks are there already
 *   - `ai`: `createUIMessageStreamResponse` writing the same chunks, behind the same `node:http` listener
 *   - bare: `node:http` writing the same lines, nothing else
 * Approvals: from sending the answer to the tool's first instruction, and to its output in the reply.
 */
import { createServer, type IncomingMessage, type Server } from "node:http";
import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { Readable } from "node:stream";
import { FunctionTool, LlmAgent, LogLevel, setLogLevel } from "@google/adk";
import { createBridge } from "adk-stream-protocol";
import { call, geminiAt, pause, startScriptedGemini, text } from "adk-stream-protocol/gemini";
import { listen } from "adk-stream-protocol/server";
import { sqliteStore } from "adk-stream-protocol/stores/sqlite";
import { createUIMessageStream, createUIMessageStreamResponse, type UIMessageChunk } from "ai";
import { z } from "zod";

const deltas = 3000;
const rounds = 5;
const answers = 60;

setLogLevel(LogLevel.ERROR);
const words = Array.from({ length: deltas }, (_, index) => `word${index} `);
const directory = await mkdtemp(join(tmpdir(), "adk-stream-bench-"));
let release = () => {};
let toolStarted = 0;

const gemini = await startScriptedGemini({
  rules: [
    { when: ({ responses }) => responses.length > 0, say: [text("Done.")] },
    { when: /pay/, say: [call("pay", { amount: 1 })] },
    { when: /hold/, say: () => [text(words.join("")), pause(new Promise<void>((resolve) => (release = resolve)))] },
    { say: [text(words.join(""))] },
  ],
});
const pay = new FunctionTool({
  name: "pay",
  description: "Pays.",
  parameters: z.object({ amount: z.number() }),
  requireConfirmation: true,
  execute: () => {
    toolStarted = performance.now();
    return { paid: true };
  },
});
const agent = new LlmAgent({
  name: "bench",
  model: geminiAt({ model: "gemini-2.5-flash", url: gemini.url }),
  tools: [pay],
});
const store = sqliteStore({ path: join(directory, "bench.db") });
const bridge = await createBridge({ agent, store });
const ours = await listen({ bridge, port: 0 });

function* replyChunks(): Generator<UIMessageChunk> {
  yield { type: "start", messageId: "m" };
  yield { type: "start-step" };
  yield { type: "text-start", id: "t" };
  for (const delta of words) yield { type: "text-delta", id: "t", delta };
  yield { type: "text-end", id: "t" };
  yield { type: "finish-step" };
  yield { type: "finish" };
}

/** What the others do with an answer: nothing is stored, decided or run. */
function* answerChunks(): Generator<UIMessageChunk> {
  yield { type: "start", messageId: "m" };
  yield { type: "tool-output-available", toolCallId: "c", output: { paid: true } };
  yield { type: "finish" };
}

function chunksFor({ url }: IncomingMessage): Generator<UIMessageChunk> {
  return url === "/answer" ? answerChunks() : replyChunks();
}

const aiServer = await serve((request, response) => {
  const stream = createUIMessageStream({
    async execute({ writer }) {
      for (const chunk of chunksFor(request)) writer.write(chunk);
    },
  });
  const { body } = createUIMessageStreamResponse({ stream });
  response.writeHead(200, { "content-type": "text/event-stream" });
  Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]).pipe(response);
});
const bareServer = await serve((request, response) => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const chunk of chunksFor(request)) response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  response.end("data: [DONE]\n\n");
});

const measured: Record<string, number[]> = {
  "ours, whole way": [],
  "ours, from the log": [],
  ai: [],
  "bare node:http": [],
};
for (let round = 0; round < rounds; round++) {
  measured["ours, whole way"]!.push(await eventsPerSecond(() => say(`s-${round}`, "talk")));
  measured["ours, from the log"]!.push(await resumedEventsPerSecond(`h-${round}`));
  measured["ai"]!.push(await eventsPerSecond(() => fetch(aiServer.url, { method: "POST" })));
  measured["bare node:http"]!.push(await eventsPerSecond(() => fetch(bareServer.url, { method: "POST" })));
}
const perSecond = Object.fromEntries(Object.entries(measured).map(([name, values]) => [name, median(values)]));
console.log(`\nStream of ${deltas} deltas, events per second (median of ${rounds}) and against each other`);
for (const [name, value] of Object.entries(perSecond))
  console.log(
    `  ${name.padEnd(20)} ${Math.round(value).toLocaleString("en").padStart(9)}   ${ratio(value, perSecond["ai"]!)} × ai   ${ratio(value, perSecond["bare node:http"]!)} × bare`,
  );

const toStart: number[] = [];
const toOutput: number[] = [];
const aiRoundTrip: number[] = [];
const bareRoundTrip: number[] = [];
for (let index = 0; index < answers; index++) {
  const chat = `a-${index}`;
  const question = await readChunks(await say(chat, "pay"));
  const start = question.find((chunk) => chunk.type === "start");
  const request = question.find((chunk) => chunk.type === "tool-approval-request");
  if (start?.type !== "start" || request?.type !== "tool-approval-request")
    throw new Error("No approval was asked for.");
  const { approvalId, toolCallId } = request;
  const part = {
    type: "tool-pay",
    toolCallId,
    state: "approval-responded",
    input: {},
    approval: { id: approvalId, approved: true },
  };
  const clicked = performance.now();
  const response = await send({
    id: chat,
    messages: [{ id: start.messageId, role: "assistant", parts: [part] }],
    messageId: start.messageId,
  });
  toOutput.push((await firstMatch(response, '"tool-output-available"')) - clicked);
  toStart.push(toolStarted - clicked);
  aiRoundTrip.push(await answerTime(aiServer.url));
  bareRoundTrip.push(await answerTime(bareServer.url));
}
console.log(`\nApproval, ${answers} answers on disk with full sync, milliseconds p50 / p99`);
console.log(`  answer → tool starts   ${quantiles(toStart)}`);
console.log(
  `  answer → tool output   ${quantiles(toOutput)}   ${ratio(median(toOutput), median(aiRoundTrip))} × ai   ${ratio(median(toOutput), median(bareRoundTrip))} × bare`,
);
console.log(`  ai, no tool, no store  ${quantiles(aiRoundTrip)}`);
console.log(`  bare, the same         ${quantiles(bareRoundTrip)}\n`);

await ours.close();
await bridge.close();
await store.close();
await gemini.close();
for (const { server } of [aiServer, bareServer]) server.close().closeAllConnections();
await rm(directory, { recursive: true });

async function serve(listener: Parameters<typeof createServer>[1]): Promise<{ url: string; server: Server }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

function send(body: object): Promise<Response> {
  return fetch(`${ours.url}/stream`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

function say(chat: string, words_: string): Promise<Response> {
  return send({ id: chat, messages: [{ role: "user", parts: [{ type: "text", text: words_ }] }] });
}

async function eventsPerSecond(request: () => Promise<Response>): Promise<number> {
  const began = performance.now();
  const events = (await (await request()).text()).split("\n\n").length - 1;
  return (events * 1000) / (performance.now() - began);
}

/** Waits until the model has said everything, then reads the turn from its beginning while it is held open. */
async function resumedEventsPerSecond(chat: string): Promise<number> {
  const first = say(chat, "hold").then((response) => response.text());
  const last = words.at(-1)!.trim();
  for (;;) {
    const probe = await fetch(`${ours.url}/stream/${chat}/stream`);
    if (probe.status !== 200) continue;
    await firstMatch(probe, last);
    break;
  }
  const began = performance.now();
  const until = await firstMatch(await fetch(`${ours.url}/stream/${chat}/stream`), last);
  release();
  await first;
  return (deltas * 1000) / (until - began);
}

/** From sending an answer to a server that only writes to the output in its reply. */
async function answerTime(url: string): Promise<number> {
  const sent = performance.now();
  return (await firstMatch(await fetch(`${url}/answer`, { method: "POST" }), '"tool-output-available"')) - sent;
}

/** When a piece of text first came by. */
async function firstMatch(response: Response, wanted: string): Promise<number> {
  const decoder = new TextDecoder();
  let seen = "";
  for await (const piece of response.body ?? []) {
    seen = seen.slice(-wanted.length) + decoder.decode(piece, { stream: true });
    if (seen.includes(wanted)) return performance.now();
  }
  throw new Error(`${wanted} never came.`);
}

async function readChunks(response: Response): Promise<UIMessageChunk[]> {
  return [...(await response.text()).matchAll(/^data: (\{.*\})$/gm)].map(
    (match) => JSON.parse(match[1]!) as UIMessageChunk,
  );
}

function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}
function quantile(values: readonly number[], at: number): number {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * at))]!;
}
function quantiles(values: readonly number[]): string {
  return `${quantile(values, 0.5).toFixed(2).padStart(6)} / ${quantile(values, 0.99).toFixed(2).padStart(6)}`;
}
function ratio(a: number, b: number): string {
  return (a / b).toFixed(2).padStart(5);
}
