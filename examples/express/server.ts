import { createServer } from "node:http";
import { attachWebSocket, toNodeHandler } from "adk-stream-protocol/node";
import { createHandler } from "adk-stream-protocol/server";
import express from "express";
import { bridge } from "../bridge.ts";

const app = express();
app.use(express.json()); // may come before the agent
app.use("/agent", toNodeHandler(createHandler({ bridge })));
app.get("/", (_request, response) => void response.type("html").send("<h1>Your page</h1>"));

export const server = createServer(app);
attachWebSocket(server, { bridge }); // ws://127.0.0.1:3000/agent/live
server.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1");
