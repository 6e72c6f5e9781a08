import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { Readable } from "node:stream";
import { FunctionTool, LlmAgent, LogLevel, setLogLevel } from "@google/adk";
import { createBridge } from "adk-stream-protocol";
import { listen } from "adk-stream-protocol/server";
import { sqliteStore } from "adk-stream-protocol/stores/sqlite";
import { call, geminiAt, pause, startScriptedGemini, text } from "adk-stream-protocol/testing";
import { createUIMessageStream, createUIMessageStreamResponse, type UIMessageChunk } from "ai";
import { z } from "zod";
import { words } from "./words.ts";

/** The servers that the sections over HTTP measure. */
export type SseStage = Awaited<ReturnType<typeof openSseStage>>;

/** Opens three `node:http` servers: ours with a store on disk, one with `ai`, and one that only writes. */
export async function openSseStage() {
  setLogLevel(LogLevel.ERROR);
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

  const ai = await serve((request, response) => {
    const stream = createUIMessageStream({
      async execute({ writer }) {
        for (const chunk of chunksFor(request)) writer.write(chunk);
      },
    });
    const { body } = createUIMessageStreamResponse({ stream });
    response.writeHead(200, { "content-type": "text/event-stream" });
    Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]).pipe(response);
  });
  const bare = await serve((request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const chunk of chunksFor(request)) response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    response.end("data: [DONE]\n\n");
  });

  const send = (body: object): Promise<Response> =>
    fetch(`${ours.url}/stream`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  return {
    ours: ours.url,
    ai: ai.url,
    bare: bare.url,
    send,
    say: (chat: string, said: string): Promise<Response> =>
      send({ id: chat, messages: [{ role: "user", parts: [{ type: "text", text: said }] }] }),
    /** Lets the model end the response that it holds open. */
    release: () => release(),
    toolStarted: () => toolStarted,
    async close(): Promise<void> {
      await ours.close();
      await bridge.close();
      await store.close();
      await gemini.close();
      for (const { server } of [ai, bare]) server.close().closeAllConnections();
      await rm(directory, { recursive: true });
    },
  };
}

/** The time at which a text is first seen in a response. */
export async function firstMatch(response: Response, wanted: string): Promise<number> {
  const decoder = new TextDecoder();
  let seen = "";
  for await (const piece of response.body ?? []) {
    seen = seen.slice(-wanted.length) + decoder.decode(piece, { stream: true });
    if (seen.includes(wanted)) return performance.now();
  }
  throw new Error(`The response does not contain ${wanted}.`);
}

function chunksFor({ url }: IncomingMessage): Generator<UIMessageChunk> {
  return url === "/answer" ? answerChunks() : replyChunks();
}

function* replyChunks(): Generator<UIMessageChunk> {
  yield { type: "start", messageId: "m" };
  yield { type: "start-step" };
  yield { type: "text-start", id: "t" };
  for (const delta of words) yield { type: "text-delta", id: "t", delta };
  yield { type: "text-end", id: "t" };
  yield { type: "finish-step" };
  yield { type: "finish" };
}

/** The reply of the other two servers to an approval. They store, decide and run nothing. */
function* answerChunks(): Generator<UIMessageChunk> {
  yield { type: "start", messageId: "m" };
  yield { type: "tool-output-available", toolCallId: "c", output: { paid: true } };
  yield { type: "finish" };
}

async function serve(listener: Parameters<typeof createServer>[1]): Promise<{ url: string; server: Server }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
