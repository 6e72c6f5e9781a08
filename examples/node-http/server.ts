import { createServer } from "node:http";
import { attachWebSocket, toNodeHandler } from "adk-stream-protocol/node";
import { createHandler } from "adk-stream-protocol/server";
import { bridge } from "../bridge.ts";

const options = { bridge, basePath: "/agent" };
const agent = toNodeHandler(createHandler(options));

export const server = createServer((request, response) => {
  if (request.url?.startsWith("/agent/")) agent(request, response);
  else response.setHeader("content-type", "text/html").end("<h1>Your page</h1>");
});
attachWebSocket(server, options); // ws://127.0.0.1:3000/agent/live
server.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1");
