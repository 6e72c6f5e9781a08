/** Hostile, broken and slow clients of `WS /live`: they get a clear refusal, use bounded memory, and disturb no one else. */
import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type Socket } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { gate, pause, text } from "adk-stream-protocol/testing";
import { attachWebSocket } from "adk-stream-protocol/node";
import type { HandlerOptions } from "adk-stream-protocol/server";
import { afterEach, describe, expect, test } from "vitest";
import { nodeCount } from "../fixtures/nodes.ts";
import { endSockets, liveUrl, openSocket, type RawSocket, refusedHandshake } from "../fixtures/raw-socket.ts";
import {
  type World,
  asked,
  idle,
  messagesOf,
  openWorld,
  payRules,
  say,
  sequence,
  textOf,
  userMessage,
} from "../fixtures/world.ts";

afterEach(endSockets);

const message = (words: string, more: object = {}) => ({
  type: "message",
  id: "chat-1",
  messages: [userMessage(words)],
  ...more,
});
const ping = { type: "ping", timestamp: 1 };

/** Checks that another connection still works. */
async function expectUnaffected(client: RawSocket): Promise<void> {
  client.send(message("hello", { id: `chat-${crypto.randomUUID()}` }));
  expect(textOf(await client.turn())).toBe("Hello there, friend.");
}

/** Tries until the server accepts a socket. */
async function openUntilAccepted(world: World, query = ""): Promise<RawSocket> {
  for (;;) {
    const client = await openSocket(world, query).catch(() => undefined);
    if (client) return client;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Bytes in use after a garbage collection. Frames that were not sent yet are in the buffers. */
function bytesInUse(): { buffers: number; all: number } {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  const { arrayBuffers: buffers, heapUsed } = process.memoryUsage();
  return { buffers, all: buffers + heapUsed };
}

const openLimited = (limits: HandlerOptions["limits"], server: Partial<HandlerOptions> = {}) =>
  openWorld({ server: { ...server, limits } });

describe("an invalid frame", () => {
  test.each([
    ["not JSON", "{", 1007],
    ["empty", "", 1007],
    ["a character that JSON must escape", '"\u0000"', 1007],
  ])("closes the socket: %s", async (_name, frame, code) => {
    const world = await openWorld();
    const [client, other] = [await openSocket(world), await openSocket(world)];
    client.send(ping, frame);
    expect(await client.closed).toMatchObject({ code, reason: "The text is not valid JSON." });
    await expectUnaffected(other);
  });

  test("closes the socket if it is binary, even if the bytes are JSON", async () => {
    const client = await openSocket(await openWorld());
    client.socket.send(Buffer.from(JSON.stringify(ping)));
    expect(await client.closed).toEqual({ code: 1003, reason: "Frames are JSON text, not binary." });
  });

  test("closes the socket if its text is not UTF-8", async () => {
    const client = await openSocket(await openWorld());
    client.socket.send(Buffer.from([0x22, 0xff, 0x22]), { binary: false });
    expect(await client.closed).toMatchObject({ code: 1007 });
  });

  test.each([
    ["an unknown type", { type: "explode" }, /^There is no frame of type "explode"; the types are message, .*\.$/],
    ["no type", {}, /^The frame has no type; the types are message, .*\.$/],
    ["a list", [], /^A frame must be a JSON object with a type, not \[\]\.$/],
    ["an empty id", { type: "message", id: "", messages: [userMessage("hello")] }, /^id: /],
    ["no messages", { type: "message", id: "chat-1", messages: [] }, /^messages: /],
    ["no result", { type: "tool_result", toolCallId: "c" }, "result: is missing."],
    ["no call", { type: "tool_result", result: true }, /^toolCallId: /],
    [
      "an answer that decides nothing",
      { type: "tool_result", id: "chat-1", toolCallId: "c", result: { confirmed: "true" } },
      /must be true or false/,
    ],
    ["no time", { type: "ping" }, /^timestamp: /],
    ["another version", { ...ping, version: "2.0" }, /speaks version "1.0"/],
    ["a __proto__ key", '{"type":"ping","timestamp":1,"__proto__":{}}', /__proto__/],
    ["a key given twice", '{"type":"ping","timestamp":1,"timestamp":2}', /same key twice/],
    ["too deep", `{"type":"ping","timestamp":1,"x":${"[".repeat(100)}${"]".repeat(100)}}`, /nested deeper/],
    [
      "interrupt without a chat",
      { type: "interrupt" },
      "An interrupt stops the chat that the socket follows; this socket follows none yet.",
    ],
    ["send without a chat", { type: "send", requestId: "r", messages: [userMessage("hello")] }, /^id: /],
    ["a message without text", { type: "message", id: "chat-1", messages: [{ role: "user", parts: [] }] }, /is empty/],
    [
      "an answer in a chat that is not there",
      { type: "tool_result", id: "nobody's", toolCallId: "c", result: { confirmed: true } },
      "There is no approval c here.",
    ],
  ])("is refused with a sentence, and the socket stays open: %s", async (_name, frame, sentence) => {
    const world = await openWorld();
    const client = await openSocket(world);
    client.send(ping, frame);
    const { chunks, done } = await client.turn();
    expect(chunks).toEqual([{ type: "error", errorText: expect.stringMatching(sentence) }]);
    expect(done).toBe(1);
    await expectUnaffected(client);
  });

  test("closes the socket if it is the first frame", async () => {
    const world = await openWorld();
    for (const frame of [{ type: "explode" }, {}, { ...ping, version: "0" }, { type: "send", requestId: "r" }]) {
      const client = await openSocket(world);
      client.send(frame, ping);
      expect(await client.closed).toMatchObject({ code: 1008 });
      expect(client.frames.join()).toMatch(/error/);
      expect(client.frames.join()).not.toContain("pong");
    }
  });

  test("during a reply is refused without ending the reply", async () => {
    const held = gate();
    const world = await openWorld({ rules: [{ say: [text("one two"), pause(held.opened), text("three")] }] });
    const client = await openSocket(world);
    client.send(message("go"));
    await client.until(({ chunks }) => chunks.some(({ type }) => type === "text-delta"));
    client.send({ type: "explode" });
    const beside = await client.until(({ chunks }) => chunks.some(({ type }) => type === "data-refusal"));
    expect(beside.chunks.at(-1)).toMatchObject({ transient: true, data: { code: "invalid" } });
    expect(beside.done).toBe(0);
    held.open();
    const rest = await client.turn();
    expect(rest.done).toBe(1);
    expect(rest.chunks.map(({ type }) => type)).not.toContain("error");
  });

  test("gets a close reason that is cut to the size of a close frame", async () => {
    const client = await openSocket(await openWorld());
    client.send({ type: "あ".repeat(100) });
    const { code, reason } = await client.closed;
    expect(code).toBe(1008);
    expect(Buffer.byteLength(reason)).toBeLessThanOrEqual(123);
    expect(reason).toMatch(/…$/);
    expect(reason).not.toContain("\uFFFD");
  });
});

describe("size", () => {
  test("a tool_result of 65 KiB closes the socket and decides nothing", async () => {
    const world = await openWorld();
    const client = await openSocket(world);
    client.send(message("pay"));
    const { approvalId } = asked(await client.question());
    client.send({
      type: "tool_result",
      toolCallId: approvalId,
      result: { confirmed: true, padding: "x".repeat(65 * 1024) },
    });
    expect(await client.closed).toMatchObject({ code: 1009 });
    expect(world.payments).toEqual([]);
  });

  test("a message of 5 MiB closes the socket, one of 3 MiB is read", async () => {
    const world = await openWorld();
    const [client, other] = [await openSocket(world), await openSocket(world)];
    client.send(message("x".repeat(5 * 1024 * 1024)));
    expect(await client.closed).toMatchObject({ code: 1009 });
    const history = [userMessage("x".repeat(3 * 1024 * 1024)), userMessage("hello")];
    other.send({ type: "message", id: "chat-1", messages: history });
    expect(textOf(await other.turn())).toBe("Hello there, friend.");
  });

  test("a large message that arrives in many pieces is read", async () => {
    const world = await openWorld({ server: { limits: { heartbeatMs: 500, silenceMs: 1000 } } });
    // An automatic pong of the client would be sent in the middle of the frame.
    const client = await openSocket(world, "", { autoPong: false });
    const history = [userMessage("x".repeat(2 * 1024 * 1024)), userMessage("hello")];
    const frame = JSON.stringify({ type: "message", id: "chat-1", messages: history });
    // One WebSocket frame, masked with zeros, written to the TCP socket in separate pieces.
    const header = Buffer.alloc(14);
    header[0] = 0x81;
    header[1] = 0x80 | 127;
    header.writeBigUInt64BE(BigInt(Buffer.byteLength(frame)), 2);
    const bytes = Buffer.concat([header, Buffer.from(frame)]);
    const stream = (client.socket as unknown as { _socket: Socket })._socket;
    stream.setNoDelay(true);
    for (let at = 0; at < bytes.length; at += 4096) {
      stream.write(bytes.subarray(at, at + 4096));
      if (at % 65536 === 0) await new Promise((resolve) => setTimeout(resolve, 45));
    }
    expect(textOf(await client.turn())).toBe("Hello there, friend.");
  });

  test("10,000 tiny fragments close the socket and use little memory", async () => {
    const world = await openWorld();
    const [client, other] = [await openSocket(world), await openSocket(world)];
    for (let index = 0; index < 10_000; index++) client.socket.send("x", { fin: false });
    expect(await client.closed).toMatchObject({ code: 1008 });
    await expectUnaffected(other);
  });
});

describe("number", () => {
  test("1,000 frames at once close the socket, and the frames within the limit are handled", async () => {
    const world = await openWorld();
    const [client, other] = [await openSocket(world), await openSocket(world)];
    client.send(...Array.from({ length: 1000 }, () => ping));
    expect(await client.closed).toEqual({ code: 1013, reason: "Too many frames at once. Try again in a moment." });
    expect(client.frames.length).toBeLessThan(400);
    await expectUnaffected(other);
  });

  test("1,000 WebSocket pings at once close the socket", async () => {
    const client = await openSocket(await openWorld());
    for (let index = 0; index < 1000; index++) client.socket.ping();
    expect(await client.closed).toMatchObject({ code: 1013 });
  });

  test("200 frames at once are handled in order, and the socket stays open", async () => {
    const client = await openSocket(await openWorld());
    client.send(...Array.from({ length: 200 }, (_, timestamp) => ({ type: "ping", timestamp })));
    const { controls } = await client.until(({ controls: got }) => got.length === 200);
    expect(controls.map(({ timestamp }) => timestamp)).toEqual([...Array(200).keys()]);
  });
});

describe("memory", () => {
  test("is freed after sockets were closed because of their frames", async () => {
    const world = await openWorld();
    const floods: ((client: RawSocket) => void)[] = [
      ({ socket }) => {
        for (let index = 0; index < 10_000; index++) socket.send("x", { fin: false });
      },
      (client) => client.send(...Array.from({ length: 1000 }, () => ping)),
      (client) => client.send(message("x".repeat(5 * 1024 * 1024))),
      (client) => client.send('{"type":'),
      ({ socket }) => socket.send(Buffer.alloc(1024 * 1024)),
    ];
    const sendAll = async () => {
      for (const flood of floods) {
        const client = await openSocket(world);
        flood(client);
        await client.closed;
      }
      endSockets();
    };
    for (let round = 0; round < 2; round++) await sendAll();
    const before = bytesInUse().all;
    for (let round = 0; round < 6; round++) await sendAll();
    // One large message would be more than this. Data that is still being sent is freed a moment later.
    await expect.poll(() => bytesInUse().all, { timeout: 10_000 }).toBeLessThan(before + 4 * 1024 * 1024);
    await expectUnaffected(await openSocket(world));
  });
});

describe("the owner of a socket", () => {
  const authenticate = (request: Request) => {
    const owner = request.headers.get("x-owner");
    return owner ? { owner } : undefined;
  };
  const as = (owner: string) => ({ headers: { "x-owner": owner } });

  test("cannot find another owner's approval, by either id, on either wire", async () => {
    const world = await openWorld({ server: { authenticate } });
    const mine = await openSocket(world, "", as("alice"));
    mine.send(message("pay"));
    const { approvalId, toolCallId, messageId } = asked(await mine.question());
    const foreign = await openSocket(world, "", as("mallory"));
    for (const toolCall of [
      { toolCallId: approvalId },
      { toolCallId: approvalId, id: "chat-1" },
      { toolCallId, id: "chat-1" },
    ]) {
      foreign.send({ type: "tool_result", result: { confirmed: true, approved: true }, ...toolCall });
      const { chunks } = await foreign.turn();
      expect(chunks).toEqual([{ type: "error", errorText: `There is no approval ${toolCall.toolCallId} here.` }]);
    }
    const aiSdkClient = await openSocket(world, "", as("mallory"));
    const part = {
      type: "tool-process_payment",
      toolCallId,
      state: "approval-responded",
      input: {},
      approval: { id: approvalId, approved: true },
    };
    aiSdkClient.send({
      type: "send",
      requestId: "r",
      id: "chat-1",
      messageId,
      messages: [{ id: messageId, role: "assistant", parts: [part] }],
    });
    const { controls } = await aiSdkClient.until(({ controls: got }) => got.length > 0);
    expect(controls).toEqual([
      { type: "error", requestId: "r", errorText: `There is no approval ${approvalId} here.` },
    ]);
    expect(world.payments).toEqual([]);
    mine.send({ type: "tool_result", toolCallId: approvalId, result: { confirmed: true } });
    expect(sequence(await mine.turn())).toBe("toa ss text fs finish [DONE]");
  });

  test("sees another owner's chat as an empty one: attach, resume and interrupt reveal nothing", async () => {
    const world = await openWorld({ server: { authenticate } });
    await say(world, "hello", { headers: { "x-owner": "alice" } });
    const foreign = await openSocket(world, "?sequence=1", as("mallory"));
    foreign.send({ type: "attach", id: "chat-1", after: 0 });
    const { controls } = await foreign.until(({ controls: got }) => got.length > 0);
    expect(controls).toEqual([{ type: "attached", id: "chat-1", sequence: 0, running: false }]);
    await say(world, "hello", { headers: { "x-owner": "alice" } });
    foreign.send({ type: "interrupt" });
    expect(await foreign.turn()).toMatchObject({
      chunks: [{ type: "error", errorText: "There is no chat chat-1 here." }],
    });
  });

  test("must be known before the handshake, or it is refused", async () => {
    const world = await openWorld({ server: { authenticate } });
    expect(await refusedHandshake(liveUrl(world))).toEqual({
      status: 401,
      body: { code: "unauthenticated", message: "This request is not authenticated." },
      connection: "close",
    });
  });

  test("gets an error that reveals nothing if the authenticate hook fails", async () => {
    const world = await openWorld({
      server: { authenticate: () => Promise.reject(new Error("secret")) },
    });
    const { status, body } = await refusedHandshake(liveUrl(world));
    expect([status, body.code]).toEqual([500, "internal"]);
    expect(body.message).not.toContain("secret");
  });

  test.each([
    [{ origin: "https://evil.example" }, 403],
    [{ origin: "null" }, 403],
    [{ headers: { host: "rebound.example" } }, 403],
    [{ headers: { "sec-fetch-site": "cross-site" } }, 403],
  ])("is refused in a handshake with %j", async (options, status) => {
    const refused = await refusedHandshake(liveUrl(await openWorld()), options);
    expect(refused).toMatchObject({ status, body: { code: "forbidden" } });
  });

  test("needs a known origin if cookies authenticate", async () => {
    const world = await openWorld({
      server: { authenticate: () => ({ owner: "alice" }), allowedOrigins: ["https://app.example"] },
    });
    const headers = { cookie: "session=1" };
    expect(await refusedHandshake(liveUrl(world), { headers })).toMatchObject({ status: 403 });
    expect(await refusedHandshake(liveUrl(world), { headers, origin: "https://evil.example" })).toMatchObject({
      status: 403,
    });
    const client = await openSocket(world, "", { headers, origin: "https://app.example" });
    client.send(message("hello"));
    await client.turn();
  });

  test.each([
    ["/lively", 404],
    ["/", 404],
    ["/live?confirmation=maybe", 400],
    ["/live?modality=audio", 400],
  ])("gets an HTTP error for a handshake at %s", async (path, status) => {
    const world = await openWorld();
    expect(await refusedHandshake(world.server.url.replace("http", "ws") + path)).toMatchObject({ status });
  });

  test("gets a JSON error for an invalid handshake", async () => {
    const world = await openWorld();
    const socket = connect(world.server.port, "127.0.0.1");
    socket.write(
      `GET /live HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 1\r\nSec-WebSocket-Key: ${"A".repeat(22)}==\r\n\r\n`,
    );
    let answer = "";
    for await (const piece of socket) answer += String(piece);
    expect(answer).toMatch(/^HTTP\/1.1 400 Bad Request\r\n/);
    expect(JSON.parse(answer.split("\r\n\r\n")[1]!)).toMatchObject({ code: "malformed" });
  });

  test("gets a normal HTTP response for an upgrade to another protocol", async () => {
    const world = await openWorld();
    const socket = connect(world.server.port, "127.0.0.1");
    socket.write("GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\n\r\n");
    let answer = "";
    for await (const piece of socket) answer += String(piece);
    expect(answer).toMatch(/^HTTP\/1.1 200 OK\r\n/);
  });
});

describe("the number of sockets", () => {
  // Each process counts or keeps this for itself.
  test.runIf(nodeCount === 1)("is limited per owner, and other owners can still connect", async () => {
    const authenticate = (request: Request) => ({ owner: request.headers.get("x-owner") ?? "nobody" });
    const world = await openLimited({ socketsPerOwner: 2 }, { authenticate });
    const as = (owner: string) => ({ headers: { "x-owner": owner } });
    const [first] = [await openSocket(world, "", as("alice")), await openSocket(world, "", as("alice"))];
    expect(await refusedHandshake(liveUrl(world), as("alice"))).toMatchObject({
      status: 429,
      body: { code: "too_many" },
      retryAfter: "5",
    });
    await expectUnaffected(await openSocket(world, "", as("bob")));
    first.socket.close();
    await first.closed;
    await expectUnaffected(await openSocket(world, "", as("alice")));
  });

  // Each process counts or keeps this for itself.
  test.runIf(nodeCount === 1)("is limited in total", async () => {
    const world = await openLimited({ sockets: 2 });
    const [first] = [await openSocket(world), await openSocket(world)];
    expect(await refusedHandshake(liveUrl(world))).toMatchObject({
      status: 503,
      body: { code: "unavailable" },
      retryAfter: "5",
    });
    first.socket.close();
    await first.closed;
    await expectUnaffected(await openSocket(world));
  });
});

describe("a silent client", () => {
  test("is closed if it sends nothing", async () => {
    const world = await openLimited({ silenceMs: 50 });
    const [silent, speaking] = [await openSocket(world), await openSocket(world)];
    speaking.send(ping);
    expect(await silent.closed).toEqual({ code: 1008, reason: "No frame came for 0.05 seconds." });
    await expectUnaffected(speaking);
  });

  test("is cut off if it does not answer pings", async () => {
    const world = await openLimited({ heartbeatMs: 40 });
    const [dead, alive] = [await openSocket(world, "", { autoPong: false }), await openSocket(world)];
    for (const client of [dead, alive]) client.send(ping);
    expect(await dead.closed).toMatchObject({ code: 1006 });
    await expectUnaffected(alive);
  });

  // A process counts its sockets for itself. The load balancer of several nodes keeps what the client does not read.
  test.runIf(nodeCount === 1)(
    "that never reads uses little memory, disturbs no one, is cut off, and can come back",
    async () => {
      const words = Array.from({ length: 350 }, (_, index) => text(`${index} ${"x".repeat(64_000)} `));
      const world = await openWorld({
        rules: [{ when: /flood/, say: words }, ...payRules],
        server: { limits: { stallMs: 2000, heartbeatMs: 60_000, sockets: 2 } },
      });
      const other = await openSocket(world);
      const stuck = await openSocket(world, "?sequence=1");
      const before = bytesInUse().buffers;
      stuck.send(message("flood"));
      await once(stuck.socket, "message");
      stuck.socket.pause();
      await idle(world);
      await expectUnaffected(other);
      // The unread chunks are in the log and in the kernel's buffers, but not in this process.
      await expect.poll(() => bytesInUse().buffers, { timeout: 1500 }).toBeLessThan(before + 4 * 1024 * 1024);
      // Two sockets are allowed: a third one can connect when this one has been closed.
      await openUntilAccepted(world);
      stuck.socket.resume();
      await stuck.closed;
      const seen = stuck.take();
      expect(seen.done).toBe(0);
      endSockets();
      const back = await openUntilAccepted(world, "?sequence=1");
      back.send({ type: "attach", id: "chat-1", after: seen.ids.at(-1) ?? 0 });
      const rest = await back.turn();
      const shown = (await messagesOf(world))
        .at(-1)!
        .parts.map((part) => (part.type === "text" ? part.text : ""))
        .join("");
      expect(shown.endsWith(textOf(rest))).toBe(true);
      expect(rest.done).toBe(1);
    },
  );
});

describe("a server", () => {
  test("has one /live at a time, and can have another when that one is closed", async () => {
    const { bridge } = await openWorld();
    const server = createServer();
    const endpoint = attachWebSocket(server, { bridge });
    expect(() => attachWebSocket(server, { bridge })).toThrow("This server has a /live already.");
    await endpoint.close();
    await attachWebSocket(server, { bridge }).close();
  });
});

describe("closing", () => {
  test("the server closes every socket and leaves nothing behind", async () => {
    const world = await openWorld();
    const sockets = await Promise.all(Array.from({ length: 20 }, () => openSocket(world)));
    for (const client of sockets) client.send({ type: "attach", id: "chat-1" });
    await Promise.all(sockets.map((client) => client.until(({ controls }) => controls.length > 0)));
    const deaf = await openSocket(world);
    deaf.socket.pause();
    await world.server.close();
    for (const client of sockets)
      expect(await client.closed).toEqual({ code: 1001, reason: "The server is stopping." });
    deaf.socket.resume();
    await deaf.closed;
  });

  test("a socket at any moment breaks nothing", async () => {
    const world = await openWorld();
    const frames = [message("pay"), { type: "attach", id: "chat-1" }, { type: "interrupt" }, message("hello"), ping];
    for (const frame of frames)
      for (const leave of ["terminate", "close"] as const) {
        const client = await openSocket(world);
        client.send(ping, frame);
        client.socket[leave]();
        await client.closed;
      }
    await idle(world);
    await expectUnaffected(await openSocket(world));
  });

  test("works with the application's own server, whose other upgrade listeners keep their paths", async () => {
    const world = await openWorld();
    const server = createServer((_request, response) => response.end("mine"));
    const endpoint = attachWebSocket(server, { bridge: world.bridge });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    const own = { ...world, server: { ...world.server, url: `http://127.0.0.1:${port}`, port } };
    await expectUnaffected(await openSocket(own));
    expect(await refusedHandshake(`ws://127.0.0.1:${port}/mine`)).toMatchObject({ status: 404 });
    server.on("upgrade", (request, socket) => {
      if (request.url === "/mine") socket.end("HTTP/1.1 418 Teapot\r\ncontent-length: 2\r\n\r\n{}");
    });
    expect(await refusedHandshake(`ws://127.0.0.1:${port}/mine`)).toMatchObject({ status: 418 });
    const open = await openSocket(own);
    await endpoint.close();
    expect(await open.closed).toMatchObject({ code: 1001 });
    expect(server.listenerCount("upgrade")).toBe(1);
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  });
});
