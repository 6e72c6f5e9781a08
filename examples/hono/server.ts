import { serve } from "@hono/node-server";
import { attachWebSocket } from "adk-stream-protocol/node";
import { createHandler } from "adk-stream-protocol/server";
import { Hono } from "hono";
import { bridge } from "../bridge.ts";

const handle = createHandler({ bridge });

const app = new Hono();
app.all("/agent/*", (context) => handle(context.req.raw));
app.get("/", (context) => context.html("<h1>Your page</h1>"));

export const server = serve({
  fetch: app.fetch,
  port: Number(process.env["PORT"] ?? 3000),
  hostname: "127.0.0.1",
});
attachWebSocket(server, { bridge }); // ws://127.0.0.1:3000/agent/live
