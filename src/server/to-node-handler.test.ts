import { once } from "node:events";
import { type ClientHttp2Stream, connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import { createServer, type IncomingMessage, request as send, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { BridgeError } from "../protocol/index.ts";
import { routePaths } from "./mount-path.ts";
import { toNodeHandler } from "./to-node-handler.ts";
import type { Incoming } from "./to-request.ts";

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** A server that replies with what the handler returns. `prepare` does what a framework does before the handler. */
async function mount(
  handle: (request: Request) => Response | Promise<Response>,
  prepare: (incoming: Incoming) => void | Promise<void> = () => {},
) {
  const listener = toNodeHandler(handle);
  const server = createServer({ requireHostHeader: false }, (incoming, outgoing) => {
    const ready = prepare(incoming);
    if (ready) void ready.then(() => listener(incoming, outgoing));
    else listener(incoming, outgoing);
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

describe("the request", () => {
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
  ])("is refused for a message with %s", async (_name, bytes) => {
    const { port } = await mount(() => new Response("ok"));
    expect(await exchange(port, bytes)).toMatch(/^HTTP\/1\.1 400 .*"code":"malformed"/s);
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

describe("below the mount path of a framework", () => {
  const show = (request: Request) => Response.json({ url: request.url, paths: routePaths(request, undefined) });

  test.each([
    ["Express", { baseUrl: "/agent" }, "/stream?x=1"],
    ["Express, also in the form for proxies", { baseUrl: "/agent" }, "http://app.example/stream?x=1"],
    ["Connect", { originalUrl: "/agent/stream?x=1" }, "/stream?x=1"],
  ])("the request has the whole address, and the routes are known: %s", async (_name, set, target) => {
    const { port } = await mount(show, (incoming) => void Object.assign(incoming, set));
    const reply = await exchange(port, `GET ${target} HTTP/1.1\r\nHost: app.example\r\nConnection: close\r\n\r\n`);
    expect(reply).toContain('{"url":"http://app.example/agent/stream?x=1","paths":["/stream"]}');
  });

  test.each([
    ["a target that middleware has replaced", { originalUrl: "/agent/old" }],
    ["a mount path that is no path", { baseUrl: "agent" }],
    ["the root", { baseUrl: "" }],
  ])("the address alone is used for %s", async (_name, set) => {
    const { url } = await mount(show, (incoming) => void Object.assign(incoming, set));
    expect(await (await fetch(`${url}/x/stream`)).json()).toEqual({
      url: `${url}/x/stream`,
      paths: ["/x/stream", "/stream"],
    });
  });

  test("a mount path with steps upwards does not become another mount path", async () => {
    const { url } = await mount(show, (incoming) => void (incoming.baseUrl = "/tenants/../agent"));
    expect(await (await fetch(`${url}/stream`)).json()).toEqual({ url: `${url}/agent/stream`, paths: ["/stream"] });
  });
});

describe("a body that was read before", () => {
  const readBody = async (incoming: Incoming, parse: (text: string) => unknown) => {
    let text = "";
    for await (const piece of incoming.iterator({ destroyOnReturn: false })) text += String(piece);
    incoming.body = parse(text);
  };
  const echo = async (request: Request) =>
    Response.json({ text: await request.text(), length: request.headers.get("content-length") });

  test.each([
    ["express.json()", (text: string) => JSON.parse(text) as unknown, '{"a":"é"}'],
    ["express.text()", (text: string) => text, '{ "a": "é" }'],
    ["express.raw()", (text: string) => Buffer.from(text), '{ "a": "é" }'],
  ])("comes from what %s has left", async (_name, parse, expected) => {
    const { url } = await mount(echo, (incoming) => readBody(incoming, parse));
    const response = await fetch(url, { method: "POST", body: '{ "a": "é" }' });
    expect(await response.json()).toEqual({ text: expected, length: String(Buffer.byteLength(expected)) });
  });

  test("and not kept is an error that says so", async () => {
    const { url } = await mount(
      (request) => request.text().then(String, ({ message }: Error) => Response.json({ message })) as Promise<Response>,
      (incoming) => readBody(incoming, () => undefined),
    );
    const response = await fetch(url, { method: "POST", body: "{}" });
    expect(await response.json()).toEqual({ message: expect.stringMatching(/^Something has read the body/) });
  });
});

describe("HTTP/2", () => {
  test("has the same requests and streamed responses, and a client that leaves cancels its own", async () => {
    const body = openBody();
    const server = createHttp2Server(
      toNodeHandler(async (request) => {
        if (request.method === "GET") return new Response(body.stream, { headers: { connection: "keep-alive" } });
        const headers = new Headers({ "x-url": request.url });
        for (const cookie of ["a=1", "b=2"]) headers.append("set-cookie", cookie);
        return new Response(`${request.headers.get("host")} ${await request.text()}`, { status: 201, headers });
      }),
    );
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    const headOf = async (stream: ClientHttp2Stream) => ((await once(stream, "response")) as [object])[0];

    const post = session.request({ ":method": "POST", ":path": "/stream" });
    post.end("hello");
    expect(await headOf(post)).toMatchObject({
      ":status": 201,
      "x-url": `http://127.0.0.1:${port}/stream`,
      "set-cookie": ["a=1", "b=2"],
    });
    let text = "";
    for await (const piece of post) text += String(piece);
    expect(text).toBe(`127.0.0.1:${port} hello`);

    const get = session.request({ ":path": "/stream" });
    expect(await headOf(get)).not.toHaveProperty("connection");
    body.enqueue("one");
    expect(String(((await once(get, "data")) as [Buffer])[0])).toBe("one");
    get.close();
    await body.whenCancelled;
    session.close();
    server.close();
    await once(server, "close");
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

describe("the response", () => {
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

  test("sends each piece at once through middleware that compresses", async () => {
    const body = openBody();
    const server = createServer((incoming, outgoing) => {
      const kept: Uint8Array[] = [];
      const write = outgoing.write.bind(outgoing) as (piece: Uint8Array) => boolean;
      Object.assign(outgoing, {
        write: (piece: Uint8Array) => kept.push(piece) > 0,
        flush: () => kept.splice(0).forEach((piece) => write(piece)),
      });
      toNodeHandler(() => new Response(body.stream))(incoming, outgoing);
    });
    servers.push(server);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const reader = (await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)).body?.getReader();
    body.enqueue("one");
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe("one");
    await reader?.cancel();
  });

  test("cuts the connection when there is no response", async () => {
    const { url } = await mount(() => Promise.reject(new Error("broken")));
    await expect(fetch(url)).rejects.toThrow("fetch failed");
  });
});
