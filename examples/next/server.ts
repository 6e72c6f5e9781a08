/** Next's own server, and the agent's WebSocket at /live. Without it, `next dev` and `next start` serve all but that. */
import { createServer } from "node:http";
import { attachWebSocket } from "adk-stream-protocol/node";
import next from "next";
import { getAgent } from "./bridge.ts";

const app = next({ dev: process.env["NODE_ENV"] !== "production" });
await app.prepare();
const page = app.getRequestHandler();

const server = createServer((request, response) => void page(request, response));
const { bridge } = await getAgent();
attachWebSocket(server, { bridge });
server.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1");
