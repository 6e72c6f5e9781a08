/** X11: a socket is authenticated again for every frame that changes something, and on the heartbeat. */
import { type Logger, silentLogger } from "adk-stream-protocol";
import { WebSocketChatTransport } from "adk-stream-protocol/client";
import type { HandlerOptions } from "adk-stream-protocol/server";
import { gate } from "adk-stream-protocol/testing";
import { afterEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { chatOver, majors } from "../fixtures/stock-chat.ts";
import { endSockets, liveUrl, openSocket, type RawSocket } from "../fixtures/raw-socket.ts";
import { asked, openWorld, post, say, userMessage, type World } from "../fixtures/world.ts";

afterEach(endSockets);

const ended = { code: 4401, reason: "The session of this socket has ended. Sign in again." };

/** A world with one user, who can be revoked, and an `authenticate` hook that the test can slow down or break. */
async function openGuarded(options: { heartbeatMs?: number; authenticateMs?: number; logger?: Logger } = {}) {
  const { heartbeatMs = 60_000, logger = silentLogger, ...rest } = options;
  const hook = {
    who: "alice" as unknown,
    calls: 0,
    atOnce: 0,
    most: 0,
    /** Runs before each reply of the hook. */
    before: async () => {},
  };
  const authenticate = async (request: Request) => {
    expect(new URL(request.url).searchParams.get("token")).toBe("t1");
    hook.calls += 1;
    hook.most = Math.max(hook.most, ++hook.atOnce);
    try {
      await hook.before();
      return hook.who as string | undefined;
    } finally {
      hook.atOnce -= 1;
    }
  };
  const server = { authenticate, logger, limits: { heartbeatMs }, ...rest } as Partial<HandlerOptions>;
  const world = await openWorld({ server });
  return { world, hook };
}

/** Each wire: how a message is sent, and how the question in its reply is answered. */
const wires = {
  "chat wire": {
    say: (client: RawSocket, words: string) =>
      client.send({ type: "message", id: "chat-1", messages: [userMessage(words)] }),
    async question(client: RawSocket) {
      return asked(await client.question());
    },
    frames: ({ approvalId, toolCallId, messageId }: Question) => [
      { type: "tool_result", toolCallId: approvalId, result: { confirmed: true } },
      { type: "tool_result", toolCallId, id: "chat-1", result: { approved: true } },
      { type: "message", id: "chat-1", messageId, messages: [answered(approvalId, toolCallId, messageId)] },
    ],
  },
  "AI SDK wire": {
    say: (client: RawSocket, words: string) =>
      client.send({ type: "send", requestId: "r1", id: "chat-1", messages: [userMessage(words)] }),
    async question(client: RawSocket) {
      const { controls } = await client.until(({ controls: got }) => got.some(({ type }) => type === "end"));
      const chunks = controls.flatMap(({ chunk }) => (chunk === undefined ? [] : [chunk as never]));
      return asked({ status: 101, chunks, done: 1, ids: [], body: "" });
    },
    frames: ({ approvalId, toolCallId, messageId }: Question) => [
      {
        type: "send",
        requestId: "r2",
        id: "chat-1",
        messageId,
        messages: [answered(approvalId, toolCallId, messageId)],
      },
    ],
  },
} as const;
type Question = { approvalId: string; toolCallId: string; messageId: string };

const answered = (id: string, toolCallId: string, messageId: string) => ({
  id: messageId,
  role: "assistant",
  parts: [
    {
      type: "tool-process_payment",
      toolCallId,
      state: "approval-responded",
      input: {},
      approval: { id, approved: true },
    },
  ],
});
const stateOf = async (world: World) => (await world.store.listApprovals({})).map(({ state }) => state);

describe.each(Object.entries(wires))("on the %s", (_name, wire) => {
  test.each([
    ["no one", undefined],
    ["another owner", "mallory"],
    ["another actor of the owner", { owner: "alice", actor: "mallory" }],
    ["something that is no identity", ["alice"]],
  ])("X11: a user who has become %s decides nothing, and the socket is closed with 4401", async (_who, who) => {
    for (const index of wire.frames({ approvalId: "", toolCallId: "", messageId: "" }).keys()) {
      const { world, hook } = await openGuarded();
      const client = await openSocket(world, "?token=t1");
      wire.say(client, "pay");
      const question = await wire.question(client);
      hook.who = who;
      client.send(wire.frames(question)[index]);
      expect(await client.closed).toEqual(ended);
      expect(await stateOf(world)).toEqual(["pending"]);
      expect(world.payments).toEqual([]);
      expect(world.gemini.live.sessions.length).toBe(1);
      await world.close();
    }
  });

  test("X11: frames that were sent before the revocation and are handled after it decide nothing", async () => {
    const { world, hook } = await openGuarded();
    const client = await openSocket(world, "?token=t1");
    wire.say(client, "pay");
    const question = await wire.question(client);
    const slow = gate();
    hook.before = () => slow.opened;
    client.send(...Array.from({ length: 20 }, () => wire.frames(question)[0]));
    await expect.poll(() => hook.atOnce).toBe(1);
    hook.who = undefined;
    slow.open();
    expect(await client.closed).toEqual(ended);
    expect(await stateOf(world)).toEqual(["pending"]);
    // All but the first were dropped with the socket.
    expect(hook.calls).toBe(3);
  });

  test("a flood of answers is authenticated one at a time, and in order", async () => {
    const { world, hook } = await openGuarded();
    const client = await openSocket(world, "?token=t1");
    wire.say(client, "pay");
    const question = await wire.question(client);
    hook.before = () => new Promise((resolve) => setImmediate(resolve));
    client.send(...Array.from({ length: 150 }, () => wire.frames(question)[0]));
    await expect.poll(() => hook.calls, { timeout: 10_000 }).toBe(152);
    expect(hook.most).toBe(1);
    await expect.poll(() => world.payments.length).toBe(1);
  });

  test("new text of a revoked user is not heard", async () => {
    const { world, hook } = await openGuarded();
    const client = await openSocket(world, "?token=t1");
    hook.who = undefined;
    wire.say(client, "pay");
    expect(await client.closed).toEqual(ended);
    expect(await stateOf(world)).toEqual([]);
    expect(world.gemini.live.sessions).toEqual([]);
  });

  test("a hook that fails or hangs decides nothing and closes the socket; the client may try again", async () => {
    const errors: string[] = [];
    const logger: Logger = { ...silentLogger, error: (words) => void errors.push(words) };
    const { world, hook } = await openGuarded({ authenticateMs: 50, logger });
    const client = await openSocket(world, "?token=t1");
    wire.say(client, "pay");
    const question = await wire.question(client);
    hook.before = () => Promise.reject(new Error("secret: no database"));
    client.send(wire.frames(question)[0]);
    const failed = await client.closed;
    expect(failed.code).toBe(1011);
    expect(failed.reason).not.toContain("secret");
    expect(errors).toEqual(["A socket could not be authenticated again."]);

    hook.before = async () => {};
    const second = await openSocket(world, "?token=t1");
    hook.before = () => new Promise(() => {});
    second.send(wire.frames(question)[0]);
    expect((await second.closed).code).toBe(1013);
    expect(await stateOf(world)).toEqual(["pending"]);

    hook.before = async () => {};
    const third = await openSocket(world, "?token=t1");
    third.send(wire.frames(question)[0]);
    await expect.poll(() => world.payments.length).toBe(1);
  });

  test("X11: the heartbeat closes the socket of a revoked user who only listens, and only that one", async () => {
    const { world, hook } = await openGuarded({ heartbeatMs: 100 });
    const client = await openSocket(world, "?token=t1");
    wire.say(client, "pay");
    await wire.question(client);
    await expect.poll(() => hook.calls).toBeGreaterThan(4);
    expect(client.socket.readyState).toBe(WebSocket.OPEN);
    hook.who = undefined;
    expect(await client.closed).toEqual(ended);
  });
});

test("a socket that has not spoken yet is closed by the heartbeat too, also if the hook hangs", async () => {
  const { world, hook } = await openGuarded({ heartbeatMs: 100, authenticateMs: 30 });
  const [revoked, hanging] = [await openSocket(world, "?token=t1"), await openSocket(world, "?token=t1")];
  hook.before = () => new Promise(() => {});
  expect((await hanging.closed).code).toBe(1013);
  expect((await revoked.closed).code).toBe(1013);
});

test("without authenticate nothing is asked again", async () => {
  // Several heartbeats come while the question waits, also on a busy machine.
  const world = await openWorld({ server: { limits: { heartbeatMs: 200, silenceMs: 10_000 } } });
  const client = await openSocket(world);
  client.send({ type: "message", id: "chat-1", messages: [userMessage("pay")] });
  const { approvalId } = asked(await client.question());
  client.send({ type: "tool_result", toolCallId: approvalId, result: { confirmed: true } });
  await client.turn();
  expect(world.payments).toHaveLength(1);
});

test("X11: HTTP refuses a revoked user at once, and the answer of another user counts", async () => {
  const revoked = new Set<string>();
  const authenticate = (request: Request) => {
    const actor = request.headers.get("x-actor") ?? "";
    return revoked.has(actor) ? undefined : { owner: "team", actor };
  };
  const world = await openWorld({ server: { authenticate } });
  const as = (actor: string) => ({ headers: { "x-actor": actor } });
  const { approvalId } = asked(await say(world, "pay", as("alice")));
  const socket = await openSocket(world, "", as("alice"));
  revoked.add("alice");
  expect((await post(world, `/approvals/${approvalId}`, { approved: false }, as("alice").headers)).status).toBe(401);
  socket.send({ type: "tool_result", toolCallId: approvalId, result: { confirmed: false } });
  expect(await socket.closed).toEqual(ended);
  const other = await openSocket(world, "", as("bob"));
  other.send({ type: "tool_result", toolCallId: approvalId, result: { confirmed: true } });
  await other.turn();
  expect(world.payments).toHaveLength(1);
  expect(await world.store.listApprovals({})).toMatchObject([{ requestedBy: "alice", decidedBy: "bob" }]);
});

test.each(majors)("the page of %s learns that it is signed out, and does not connect again", async (_name, ai) => {
  // On a busy machine a shorter heartbeat would end a socket whose reply is late.
  const { world, hook } = await openGuarded({ heartbeatMs: 500 });
  let sockets = 0;
  class Counted extends WebSocket {
    constructor(url: string) {
      super(url);
      sockets += 1;
    }
  }
  const transport = new WebSocketChatTransport({ url: liveUrl(world, "?token=t1"), webSocket: Counted });
  const { chat, errors } = chatOver(ai, transport);
  await chat.sendMessage({ text: "hello" });
  hook.who = undefined;
  await expect.poll(() => transport.getState().status).toBe("signed-out");
  expect(sockets).toBe(1);
  expect(errors).toEqual([]);
  hook.who = "alice";
  await chat.sendMessage({ text: "hello again" });
  expect(transport.getState().status).toBe("open");
  transport.close();
});
