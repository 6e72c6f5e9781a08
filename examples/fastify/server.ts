import { attachWebSocket, toNodeHandler } from "adk-stream-protocol/node";
import { createHandler } from "adk-stream-protocol/server";
import Fastify from "fastify";
import { bridge } from "../bridge.ts";

const agent = toNodeHandler(createHandler({ bridge }));

const app = Fastify();
app.register(async (scope) => {
  // Leaves the body to the agent. Outside of this scope Fastify reads bodies as usual.
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", (_request, _body, done) => done(null));
  scope.all("/agent/*", (request, reply) => {
    reply.hijack();
    agent(request.raw, reply.raw);
  });
});
app.get("/", (_request, reply) => reply.type("text/html").send("<h1>Your page</h1>"));

export const { server } = app;
attachWebSocket(server, { bridge }); // ws://127.0.0.1:3000/agent/live
await app.listen({ port: Number(process.env["PORT"] ?? 3000), host: "127.0.0.1" });
