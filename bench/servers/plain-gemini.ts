/**
 * A model whose reply is one sentence that takes 20 ms. It does not look at the request: how long a real model takes for a
 * long history is not what we measure.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { serve } from "./serve.ts";

const speakMs = 20;

const server = createServer((request, response) => void reply(request, response));

async function reply(request: IncomingMessage, response: ServerResponse): Promise<void> {
  request.resume();
  for await (const _ of request) continue;
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(frame("Hello, "));
  await delay(speakMs);
  response.end(frame("again.", "STOP"));
}

function frame(text: string, finishReason?: string): string {
  const candidate = { content: { role: "model", parts: [{ text }] }, index: 0, ...(finishReason && { finishReason }) };
  return `data: ${JSON.stringify({ candidates: [candidate] })}\r\n\r\n`;
}

server.listen(0, "127.0.0.1", () => serve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
