/** What one client may use of a server: requests, bytes in memory, reads and attaches. The others go on. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { gate, pause, text } from "adk-stream-protocol/testing";
import { createHandler, type ServerLimits } from "adk-stream-protocol/server";
import { memoryStore } from "adk-stream-protocol/stores/memory";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { endSockets, openSocket } from "../fixtures/raw-socket.ts";
import {
  asked as askedIn,
  idle,
  openWorld,
  payRules,
  post,
  receive,
  say,
  textOf,
  userMessage,
  type World,
} from "../fixtures/world.ts";

afterEach(endSockets);

const authenticate = (request: Request) => request.headers.get("x-owner") ?? undefined;
const as = (owner: string) => ({ "x-owner": owner });
const openLimited = (limits: Partial<ServerLimits>) => openWorld({ server: { authenticate, limits } });

/** The body of a message that makes the request this large. */
function bodyOf(bytes: number): string {
  const [before, after] = JSON.stringify({ id: "c", messages: [userMessage("hello ?", "u")] }).split("?");
  return `${before}${"x".repeat(bytes - (before?.length ?? 0) - (after?.length ?? 0))}${after}`;
}

/** Sends a request whose body never ends by itself, and everything of the body but its last byte. */
async function holdBody(
  world: World,
  owner: string,
  body: string,
  { named = true }: { named?: boolean } = {},
): Promise<{ socket: Socket; finish(): void; reply: Promise<string> }> {
  const socket = connect(world.server.port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  const length = named ? `Content-Length: ${body.length}` : "Transfer-Encoding: chunked";
  const head = `POST /stream HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Owner: ${owner}\r\nContent-Type: application/json\r\n${length}\r\nConnection: close\r\n\r\n`;
  const sent = body.slice(0, -1);
  socket.write(head + (named ? sent : `${sent.length.toString(16)}\r\n${sent}\r\n`));
  let received = "";
  socket.on("data", (piece) => (received += String(piece)));
  socket.on("error", () => undefined);
  const reply = once(socket, "close").then(() => received);
  const last = body.slice(-1);
  return { socket, reply, finish: () => void socket.write(named ? last : `1\r\n${last}\r\n0\r\n\r\n`) };
}

/** The status of a small request. */
async function status(world: World, owner: string): Promise<number> {
  return (await say(world, "hello", { chat: crypto.randomUUID(), headers: as(owner) })).status;
}

describe("X6: bodies that are held open", () => {
  const kibibyte = 1024;

  test("are refused past the owner's bytes before they are read, and other owners can send", async () => {
    const world = await openLimited({ bytesPerOwner: 100 * kibibyte, bytes: 200 * kibibyte });
    const held = [
      await holdBody(world, "alice", bodyOf(40 * kibibyte)),
      await holdBody(world, "alice", bodyOf(40 * kibibyte)),
    ];
    const large = bodyOf(40 * kibibyte);
    await expect.poll(async () => (await post(world, "/stream", large, as("alice"))).status).toBe(429);
    const refused = await post(world, "/stream", large, as("alice"));
    expect(refused.headers.get("retry-after")).toBe("2");
    expect(await refused.json()).toEqual({
      code: "too_many",
      message: "The limit of 102400 bytes at once per owner is reached. Try again in 2 seconds.",
    });
    expect(await status(world, "bob")).toBe(200);
    held[0]?.finish();
    expect(await held[0]?.reply).toMatch(/^HTTP\/1.1 200/);
    held[1]?.socket.destroy();
    await expect.poll(async () => (await post(world, "/stream", large, as("alice"))).status).toBe(200);
  });

  test("are refused for all when the server has too many, also if they do not say how long they are", async () => {
    const world = await openLimited({ bytesPerOwner: 80 * kibibyte, bytes: 100 * kibibyte });
    const held = await holdBody(world, "alice", bodyOf(70 * kibibyte), { named: false });
    await expect.poll(async () => (await post(world, "/stream", bodyOf(40 * kibibyte), as("bob"))).status).toBe(503);
    expect(await status(world, "bob")).toBe(200);
    const more = await holdBody(world, "bob", bodyOf(70 * kibibyte), { named: false });
    expect(await more.reply).toMatch(/^HTTP\/1.1 503[^]*retry-after: 2/);
    held.finish();
    expect(await held.reply).toMatch(/^HTTP\/1.1 200/);
    expect((await post(world, "/stream", bodyOf(70 * kibibyte), as("bob"))).status).toBe(200);
  });

  test("get 408 if they take too long, and their bytes are free again", async () => {
    const world = await openLimited({ bytesPerOwner: 50 * kibibyte, bodyMs: 60 });
    const slow = await holdBody(world, "alice", bodyOf(40 * kibibyte));
    await expect.poll(() => slow.socket.bytesRead).toBeGreaterThan(0);
    slow.socket.end();
    expect(await slow.reply).toMatch(/^HTTP\/1.1 408[^]*The body did not arrive within 0.06 seconds/);
    expect((await post(world, "/stream", bodyOf(40 * kibibyte), as("alice"))).status).toBe(200);
  });

  test("are counted on sockets too, also if pings come in between", async () => {
    const world = await openLimited({ bytesPerOwner: 200 * kibibyte });
    const greedy = await openSocket(world, "", { headers: as("alice") });
    const piece = "x".repeat(50 * kibibyte);
    greedy.socket.send('{"type":"message","id":"c","messages":["', { fin: false });
    for (let count = 0; count < 10; count++) {
      greedy.socket.send(piece, { fin: false });
      greedy.socket.ping();
    }
    expect(await greedy.closed).toEqual({
      code: 1013,
      reason: "The limit of 204800 bytes at once per owner is reached. Try again in 2 seconds.",
    });
    const polite = await openSocket(world, "", { headers: as("alice") });
    for (let count = 0; count < 4; count++) {
      polite.send(bodyOf(150 * kibibyte).replace("{", '{"type":"message",'));
      expect(textOf(await polite.turn())).toBe("Hello there, friend.");
    }
  });
});

describe("requests at once", () => {
  test("are limited per owner and in all until their replies end", async () => {
    const { opened, open } = gate();
    const rules = [{ when: /story/, say: [text("One "), pause(opened), text("two.")] }, ...payRules];
    const world = await openWorld({
      rules,
      server: { authenticate, limits: { requestsPerOwner: 2, requests: 3 } },
    });
    const begin = (owner: string, chat: string) =>
      post(world, "/stream", { id: chat, messages: [userMessage("a story")] }, as(owner));
    const running = [await begin("alice", "1"), await begin("alice", "2")];
    const refused = await begin("alice", "3");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    running.push(await begin("bob", "1"));
    const list = await fetch(`${world.server.url}/approvals`, { headers: as("carol") });
    expect([list.status, list.headers.get("retry-after")]).toEqual([503, "1"]);
    // A server that is full is not dead.
    for (const probe of ["/health", "/ready"]) expect((await fetch(world.server.url + probe)).status).toBe(200);
    // A reader that leaves gives its place back; its turn goes on.
    await running[2]?.body?.cancel();
    await expect.poll(async () => (await begin("bob", "1")).status).toBe(200);
    open();
    for (const response of running.slice(0, 2)) await receive(response);
    expect(await status(world, "alice")).toBe(200);
  });

  test("are free again after errors, refusals and small replies", async () => {
    const world = await openLimited({ requestsPerOwner: 1, requests: 1 });
    for (let count = 0; count < 3; count++) {
      expect((await post(world, "/stream", "{", as("alice"))).status).toBe(400);
      expect((await post(world, "/stream", "{}")).status).toBe(401);
      expect((await fetch(`${world.server.url}/stream/none/messages`, { headers: as("alice") })).status).toBe(404);
      expect((await fetch(`${world.server.url}/health`, { headers: as("alice") })).status).toBe(200);
    }
    expect(await status(world, "alice")).toBe(200);
  });
});

describe("reads", () => {
  test("past the limit wait, and are refused when too many wait", async () => {
    const world = await openWorld();
    await say(world, "hello");
    const limits = { readsPerOwner: 1, reads: 2, waitingReadsPerOwner: 3 };
    const { opened, open } = gate();
    const bridge = Object.assign(Object.create(world.bridge) as typeof world.bridge, {
      messagePage: async (...of: Parameters<typeof world.bridge.messagePage>) => {
        await opened;
        return world.bridge.messagePage(...of);
      },
      approvals: (...of: Parameters<typeof world.bridge.approvals>) => world.bridge.approvals(...of),
    });
    const handle = createHandler({ bridge, authenticate: (request) => authenticate(request), limits });
    const read = (owner: string, path: string) =>
      handle(new Request(`http://localhost${path}`, { headers: as(owner) }));
    const waiting = [1, 2, 3, 4].map(() => read("alice", "/stream/chat-1/messages"));
    await expect.poll(async () => (await read("bob", "/approvals")).status).toBe(200);
    const refused = await read("alice", "/approvals");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    open();
    for (const response of await Promise.all(waiting)) expect(response.status).toBe(404);
    expect((await read("alice", "/approvals")).status).toBe(200);
  });

  test("go on while one waits for a turn that another node is about to begin", async () => {
    const steps: string[] = [];
    let asked = 0;
    let isElsewhere = false;
    const { opened: allAsked, open: letLook } = gate();
    const world = await openWorld({
      server: {
        limits: { reads: 1, readsPerOwner: 1 },
        authenticate() {
          asked += 1;
          return "alice";
        },
      },
      store(now) {
        const store = memoryStore({ now });
        return {
          ...store,
          async leaseOf(chat) {
            if (!isElsewhere) return store.leaseOf(chat);
            steps.push("look");
            await allAsked;
            return { node: "another", fence: 9, until: Infinity };
          },
          messages(...of) {
            steps.push("read");
            return store.messages(...of);
          },
        };
      },
    });
    const { approvalId } = askedIn(await say(world, "pay"));
    await idle(world);
    await world.store.move(approvalId, { event: "approve", by: "alice" });
    isElsewhere = true;
    const waiting = fetch(`${world.server.url}/stream/chat-1/stream`);
    await expect.poll(() => steps).toEqual(["look"]);
    asked = 0;
    const reads = [1, 2, 3].map(() => fetch(`${world.server.url}/stream/chat-1/messages`));
    await expect.poll(() => asked).toBe(3);
    letLook();
    for (const { status: read } of await Promise.all(reads)) expect(read).toBe(200);
    expect(steps[1]).toBe("read");
    // No turn begins.
    expect((await waiting).status).toBe(204);
  });
});

describe("X20: attaches", () => {
  test("past the rate wait, and are refused when the wait would be long", async () => {
    const world = await openLimited({ attachesPerOwner: { size: 2, perSecond: 0.1 } });
    await say(world, "hello", { headers: as("alice") });
    const client = await openSocket(world, "?sequence=1", { headers: as("alice") });
    const attach = { type: "attach", id: "chat-1", after: 0 };
    client.send(attach, attach, { ...attach, requestId: "third" });
    const { controls } = await client.until((received) => received.controls.some(({ type }) => type === "refused"));
    expect(controls.filter(({ type }) => type === "attached")).toHaveLength(2);
    expect(controls.find(({ type }) => type === "refused")).toMatchObject({
      ...{ requestId: "third", code: "too_many", retryAfter: 10 },
    });
    const other = await openSocket(world, "?sequence=1", { headers: as("bob") });
    other.send({ type: "attach", id: "chat-1" });
    await other.until((received) => received.controls.some(({ type }) => type === "attached"));
    // The socket goes on.
    client.send({ type: "message", id: "chat-1", messages: [userMessage("hello")] });
    expect(textOf(await client.turn())).toContain("Hello there, friend.");
  });
});
