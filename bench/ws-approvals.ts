/**
 * Approvals over a WebSocket: milliseconds from sending the approval to the output of the tool.
 *   - /live: a `message` frame as `useChat` sends it, or a `tool_result` frame; the approval is decided, claimed, run
 *     once and logged, on disk with full sync or in memory
 *   - /run_sse: a POST with the confirmation over a connection that is open, until the event with the response of the
 *     tool; sessions in memory
 *   - bare ws: the same frame sent back
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import type { UIMessageChunk } from "ai";
import { approvalAnswer } from "./approval-answer.ts";
import { alternate, median, quantiles, ratio, verdict } from "./figures.ts";
import { installPeers } from "./peers.ts";
import { newSession, run } from "./run-sse-client.ts";
import { startServer } from "./server-process.ts";
import { isDone, sayFrame, SocketClient } from "./socket-client.ts";

const answers = 120;
const warmUp = 20;

/** Measures and prints. */
export async function wsApprovals(): Promise<void> {
  const hasPeers = installPeers();
  const directory = await mkdtemp(join(tmpdir(), "adk-stream-bench-"));
  const gemini = await startServer("scripted-gemini");
  const overWire = { gemini: gemini.url };
  const onDisk = await startServer("bridge", { ...overWire, database: join(directory, "a.db") });
  const inMemory = await startServer("bridge", overWire);
  const bare = await startServer("bare-socket");
  const peer = hasPeers ? await startServer("run-sse", overWire) : undefined;
  const clients = {
    onDisk: await SocketClient.open(onDisk.url),
    inMemory: await SocketClient.open(inMemory.url),
    bare: await SocketClient.open(bare.url),
  };

  const measured = await alternate(
    answers,
    {
      "/live on disk": (round) => answerOverSocket(clients.onDisk, `m-${round}`, toMessage),
      "/live on disk, tool_result": (round) => answerOverSocket(clients.onDisk, `t-${round}`, toToolResult),
      "/live in memory": (round) => answerOverSocket(clients.inMemory, `m-${round}`, toMessage),
      "/live in memory, tool_result": (round) => answerOverSocket(clients.inMemory, `t-${round}`, toToolResult),
      "/run_sse in memory": peer && (() => answerOverRunSse(peer.url)),
      "bare ws": () => echo(clients.bare),
    },
    { warmUp },
  );
  for (const client of Object.values(clients)) await client.close();
  for (const server of [onDisk, inMemory, bare, peer, gemini]) await server?.stop();
  await rm(directory, { recursive: true });

  const ofPeer = measured["/run_sse in memory"] && median(measured["/run_sse in memory"]);
  console.log(`\nApproval over a WebSocket, ${answers} answers, answer → tool output, milliseconds p50 / p99`);
  for (const [name, values] of Object.entries(measured)) {
    const own = median(values);
    const againstPeer = ofPeer === undefined ? "" : `   ${ratio(own, ofPeer)} × /run_sse`;
    console.log(
      `  ${name.padEnd(28)} ${quantiles(values)}${againstPeer}   ${ratio(own, median(measured["bare ws"] ?? []))} × bare ws`,
    );
  }
  if (ofPeer !== undefined)
    for (const name of ["/live on disk", "/live in memory"])
      console.log(verdict(`≤ 0.5 × /run_sse, ${name}`, median(measured[name] ?? []) <= 0.5 * ofPeer));
}

/** The time of one answer over a socket. */
export async function answerOverSocket(
  client: SocketClient,
  chat: string,
  toFrame: (chat: string, question: UIMessageChunk[]) => object,
): Promise<number> {
  const asked = client.until((frame) => frame.startsWith('{"type":"parked"'));
  client.send(sayFrame(chat, "pay"));
  const frame = toFrame(chat, toChunks(await asked));
  let cameAt = 0;
  const reply = client.until((event) => {
    if (cameAt === 0 && event.includes('"tool-output-available"')) cameAt = performance.now();
    return isDone(event);
  });
  const clicked = performance.now();
  client.send(frame);
  const events = await reply;
  if (cameAt === 0) throw new Error(`The reply has no tool output: ${events.join("")}`);
  return cameAt - clicked;
}

/** The answer as `useChat` sends it. */
export function toMessage(chat: string, question: UIMessageChunk[]): object {
  return { type: "message", ...approvalAnswer(chat, question) };
}

function toToolResult(_chat: string, question: UIMessageChunk[]): object {
  const request = question.find((chunk) => chunk.type === "tool-approval-request");
  if (request?.type !== "tool-approval-request") throw new Error("The chunks contain no approval request.");
  return { type: "tool_result", toolCallId: request.approvalId, result: { confirmed: true } };
}

function toChunks(frames: readonly string[]): UIMessageChunk[] {
  return frames.flatMap((frame) => {
    const [, json] = /^data: (\{.*\})$/m.exec(frame) ?? [];
    return json === undefined ? [] : [JSON.parse(json) as UIMessageChunk];
  });
}

/** The time of one answer over ADK's own server. */
export async function answerOverRunSse(url: string): Promise<number> {
  const session = await newSession(url);
  let confirmation: string | undefined;
  await run(url, session, { text: "pay" }, (event) => {
    const { content } = JSON.parse(event.slice("data: ".length)) as {
      content?: { parts?: { functionCall?: { id: string; name: string } }[] };
    };
    for (const { functionCall } of content?.parts ?? [])
      if (functionCall?.name === "adk_request_confirmation") confirmation = functionCall.id;
  });
  if (confirmation === undefined) throw new Error("/run_sse did not ask for a confirmation.");
  const functionResponse = { id: confirmation, name: "adk_request_confirmation", response: { confirmed: true } };
  let cameAt = 0;
  const clicked = performance.now();
  await run(url, session, { functionResponse }, (event) => {
    if (cameAt === 0 && event.includes('"paid":true')) cameAt = performance.now();
  });
  if (cameAt === 0) throw new Error("/run_sse did not run the tool.");
  return cameAt - clicked;
}

async function echo(client: SocketClient): Promise<number> {
  const question: UIMessageChunk[] = [
    { type: "start", messageId: crypto.randomUUID() },
    { type: "tool-approval-request", approvalId: crypto.randomUUID(), toolCallId: crypto.randomUUID() },
  ];
  const frame = toMessage("m", question);
  const back = client.until(() => true);
  const sent = performance.now();
  client.send(frame);
  await back;
  return performance.now() - sent;
}
