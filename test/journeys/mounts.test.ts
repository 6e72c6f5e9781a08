/** The handler and the WebSocket at places in other people's servers that the examples do not show. */
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { attachWebSocket, toNodeHandler } from "adk-stream-protocol/node";
import { createHandler, type HandlerOptions } from "adk-stream-protocol/server";
import * as ai from "ai";
import express from "express";
import { createServer as createViteServer } from "vite";
import { describe, expect, onTestFinished, test } from "vitest";
import { stockChat, toolParts } from "../fixtures/stock-chat.ts";
import { openWorld, type World } from "../fixtures/world.ts";

async function serve(listener: RequestListener, ...endpoints: readonly HandlerOptions[]): Promise<string> {
  const server = createServer(listener);
  const attached = endpoints.map((options) => attachWebSocket(server, options));
  onTestFinished(async () => {
    server.closeAllConnections();
    await Promise.all([new Promise((resolve) => server.close(resolve)), ...attached.map((one) => one.close())]);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Asks for a payment at this place, says yes, and returns the state of the call. */
async function pay(url: string, wire: "SSE" | "chat wire"): Promise<string | undefined> {
  const page = stockChat(ai, { server: { url } } as World, { wire, chat: wire.replace(" ", "-") });
  await page.chat.sendMessage({ text: "pay" });
  const stateOf = (messages: readonly ai.UIMessage[]) => messages.slice(-1).flatMap((last) => toolParts(ai, last))[0];
  const part = stateOf(await page.settled());
  await page.chat.addToolApprovalResponse({ id: part?.approval?.id ?? "", approved: true });
  await page.shows((messages) => stateOf(messages)?.state === "output-available");
  const messages = await page.settled();
  expect(page.errors).toEqual([]);
  return stateOf(messages)?.state;
}

describe("Express", () => {
  test("mounts the agent below a path that looks like a route, in a router with parameters", async () => {
    const { bridge, payments } = await openWorld();
    const seen: string[] = [];
    const authenticate = (request: Request) => {
      seen.push(new URL(request.url).pathname);
      return "alice";
    };
    const router = express.Router().use("/files/approvals", toNodeHandler(createHandler({ bridge, authenticate })));
    const origin = await serve(express().use(express.json(), express.Router().use("/tenants/:id", router)));
    expect(await pay(`${origin}/tenants/7/files/approvals`, "SSE")).toBe("output-available");
    expect(payments).toHaveLength(1);
    expect(new Set(seen)).toEqual(new Set(["/tenants/7/files/approvals/stream"]));
    const wrong = await fetch(`${origin}/tenants/7/files/approvals/x/approvals`);
    expect(wrong.status).toBe(404);
  });

  test("has two agents on one server", async () => {
    const worlds = await Promise.all([openWorld(), openWorld()]);
    const options = worlds.map(({ bridge }, index) => ({ bridge, basePath: `/agent-${index}` }));
    const app = express();
    for (const each of options) app.use(each.basePath, toNodeHandler(createHandler(each)));
    const origin = await serve(app, ...options);
    for (const { basePath } of options) expect(await pay(`${origin}${basePath}`, "chat wire")).toBe("output-available");
    expect(worlds.map(({ payments }) => payments.length)).toEqual([1, 1]);
  });
});

test("Vite has the agent below a path, beside its own WebSocket", async () => {
  const { bridge, payments } = await openWorld();
  const root = mkdtempSync(join(tmpdir(), "vite-"));
  writeFileSync(join(root, "index.html"), "<p>Your page</p>");
  const vite = await createViteServer({
    root,
    configFile: false,
    logLevel: "silent",
    server: { port: 0, host: "127.0.0.1" },
    plugins: [
      {
        name: "agent",
        configureServer({ middlewares, httpServer }) {
          middlewares.use("/agent", toNodeHandler(createHandler({ bridge })));
          if (httpServer) attachWebSocket(httpServer, { bridge });
        },
      },
    ],
  });
  onTestFinished(async () => {
    await vite.close();
    rmSync(root, { recursive: true });
  });
  await vite.listen();
  const port = new URL(vite.resolvedUrls?.local[0] ?? "").port;
  for (const wire of ["SSE", "chat wire"] as const)
    expect(await pay(`http://127.0.0.1:${port}/agent`, wire)).toBe("output-available");
  expect(payments).toHaveLength(2);
  const reload = new WebSocket(`ws://127.0.0.1:${port}/?token=${vite.config.webSocketToken}`, "vite-hmr");
  const [{ data }] = (await once(reload, "message")) as [MessageEvent<string>];
  expect(data).toContain("connected");
  reload.close();
});
