import { once } from "node:events";
import { createServer, type IncomingMessage, request as send, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { BridgeError } from "../protocol/index.ts";
import { sendResponse, toRequest } from "./node.ts";

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** A server that replies with what the handler returns, mounted as the documentation shows it. */
async function mount(handle: (request: Request) => Response | Promise<Response>) {
  const server = createServer({ requireHostHeader: false }, (incoming, outgoing) => {
    const request = toRequest(incoming);
    const response = request ? Promise.resolve(request).then(handle) : new Response("no request", { status: 400 });
    void sendResponse(response, outgoing);
  });
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { port, url: `http://127.0.0.1:${port}` };
}

/** What the server writes on a connection that sends these bytes and then waits for its end. */
async function exchange(port: number, bytes: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.end(bytes);
  let text = "";
  for await (const piece of socket) text += String(piece);
  return text;
}

/** A body that gives what it is told to, and records whether it was cancelled. */
function openBody() {
  let enqueue: (text: string) => void = () => {};
  let fail: (error: Error) => void = () => {};
  let cancelled: () => void = () => {};
  const whenCancelled = new Promise<void>((resolve) => (cancelled = resolve));
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      enqueue = (text) => controller.enqueue(new TextEncoder().encode(text));
      fail = (error) => controller.error(error);
    },
    cancel: () => cancelled(),
  });
  return { stream, whenCancelled, enqueue: (text: string) => enqueue(text), fail: (error: Error) => fail(error) };
}

describe("toRequest", () => {
  test("has the method, the address, the headers and the body", async () => {
    const { url, port } = await mount(async (request) =>
      Response.json({
        method: request.method,
        url: request.url,
        tag: request.headers.get("x-tag"),
        body: await request.text(),
      }),
    );
    const response = await fetch(`${url}/a?b=c`, { method: "POST", body: "hello", headers: { "x-tag": "t" } });
    expect(await response.json()).toEqual({
      method: "POST",
      url: `http://127.0.0.1:${port}/a?b=c`,
      tag: "t",
      body: "hello",
    });
    const read = await fetch(`${url}/a`);
    expect(await read.json()).toMatchObject({ method: "GET", body: "" });
  });

  test.each([
    ["no Host header", "GET / HTTP/1.1\r\n\r\n"],
    ["a Host that is no host", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"],
    ["a method that Fetch forbids", "TRACE / HTTP/1.1\r\nHost: localhost\r\n\r\n"],
  ])("is undefined for a message with %s", async (_name, bytes) => {
    const { port } = await mount(() => new Response("ok"));
    expect(await exchange(port, bytes)).toMatch(/^HTTP\/1\.1 400 .*no request/s);
  });

  test("drops a body that is not read to its end, so that the next request on the connection is read", async () => {
    const { port } = await mount(async (request) => {
      await request.body?.cancel();
      return new Response(new URL(request.url).pathname);
    });
    const body = "x".repeat(200_000);
    const first = `POST /first HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const second = "GET /second HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    expect(await exchange(port, first + second)).toMatch(/\/first.*\/second/s);
  });
});

describe("a body that the server has no room for", () => {
  test("is not taken from the client: the connection is cut after the reply", async () => {
    const { port } = await mount(async (request) => {
      await request.body?.cancel(new BridgeError("too_many", "Too much."));
      return new Response("refused", { status: 429 });
    });
    const socket = connect(port, "127.0.0.1");
    let reply = "";
    socket.on("data", (piece) => (reply += String(piece))).on("error", () => undefined);
    const length = 64 * 1024 * 1024;
    socket.write(`POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${length}\r\n\r\n`);
    let isTaken = false;
    socket.write(new Uint8Array(length - 1), (error) => (isTaken = error == null));
    // `once` would reject: the connection is reset.
    await new Promise((resolve) => socket.on("close", resolve));
    expect(reply).toMatch(/^HTTP\/1.1 429/);
    expect(isTaken).toBe(false);
  });
});

describe("sendResponse", () => {
  test("writes status, headers and body, and leaves the connection to node:http", async () => {
    const { url } = await mount(() => {
      const headers = new Headers({ connection: "close", "x-tag": "t" });
      headers.append("set-cookie", "a=1");
      headers.append("set-cookie", "b=2");
      return new Response("hello", { status: 201, headers });
    });
    const response = await fetch(url);
    expect(response.status).toBe(201);
    expect(response.headers.get("x-tag")).toBe("t");
    expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect(response.headers.get("connection")).not.toBe("close");
    expect(await response.text()).toBe("hello");
  });

  test("writes a response without a body", async () => {
    const { url } = await mount(() => new Response(null, { status: 204 }));
    expect((await fetch(url)).status).toBe(204);
  });

  test("sends each piece at once", async () => {
    const body = openBody();
    const { url } = await mount(() => new Response(body.stream));
    const reader = (await fetch(url)).body?.getReader();
    for (const text of ["one", "two"]) {
      body.enqueue(text);
      const read = await reader?.read();
      expect(new TextDecoder().decode(read?.value)).toBe(text);
    }
    await reader?.cancel();
  });

  test("writes a large body whole to a slow reader", async () => {
    const piece = new Uint8Array(64 * 1024);
    let left = 64;
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (left-- > 0) controller.enqueue(piece);
        else controller.close();
      },
    });
    const { url } = await mount(() => new Response(stream));
    const outgoing = send(url).end();
    const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
    let bytes = 0;
    for await (const data of incoming) {
      bytes += (data as Buffer).length;
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(bytes).toBe(64 * piece.length);
  });

  test("cancels the body when the client leaves", async () => {
    const body = openBody();
    const { url } = await mount(() => new Response(body.stream));
    const leaving = new AbortController();
    await fetch(url, { signal: leaving.signal });
    leaving.abort();
    await expect(body.whenCancelled).resolves.toBeUndefined();
  });

  test("cuts the connection when the body fails", async () => {
    const body = openBody();
    const { url } = await mount(() => new Response(body.stream));
    const response = await fetch(url);
    body.enqueue("half");
    body.fail(new Error("gone"));
    await expect(response.text()).rejects.toThrow("terminated");
  });

  test("cuts the connection when there is no response", async () => {
    const { url } = await mount(() => Promise.reject(new Error("broken")));
    await expect(fetch(url)).rejects.toThrow("fetch failed");
  });
});
