/** Limits per owner and in all: what is past a limit is refused with a time to try again, and the next attempt works. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { clientTool } from "adk-stream-protocol";
import { memoryStore } from "adk-stream-protocol/stores/memory";
import { sqliteStore } from "adk-stream-protocol/stores/sqlite";
import { call, gate, pairingErrors, pause, type Rule, text } from "adk-stream-protocol/testing";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { endSockets, openSocket } from "../fixtures/raw-socket.ts";
import { majors, stockChat, type Wire, wordsOf } from "../fixtures/stock-chat.ts";
import { storeKinds } from "../fixtures/store-kinds.ts";
import { asked, get, openWorld, payRules, post, receive, say, userMessage, type World } from "../fixtures/world.ts";

afterEach(endSockets);

/** Each request says whose it is. */
const authenticate = (request: Request) => request.headers.get("x-owner") ?? undefined;
const as = (owner: string) => ({ "x-owner": owner });

/** A model that stops in the middle of its response to "story" until the test lets it continue. */
function heldModel() {
  const { opened, open } = gate();
  const rules: Rule[] = [{ when: /story/, say: [text("One "), pause(opened), text("two.")] }, ...payRules];
  return { rules, open };
}

async function begin(world: World, chat: string, headers: Record<string, string> = {}): Promise<Response> {
  return post(world, "/stream", { id: chat, messages: [userMessage("a story")] }, headers);
}

describe("turns at once", () => {
  test("are limited per owner and in all, and a message that replaces a turn needs no place", async () => {
    const { rules, open } = heldModel();
    const world = await openWorld({
      rules,
      bridge: { limits: { turnsPerOwner: 2, turns: 3 } },
      server: { authenticate },
    });
    const running = [await begin(world, "a1", as("alice")), await begin(world, "a2", as("alice"))];
    const refused = await begin(world, "a3", as("alice"));
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    expect(await refused.json()).toEqual({
      code: "too_many",
      message: "The limit of 2 turns at once per owner is reached. Try again in 1 second.",
    });
    expect((await get2(world, "/stream/a3/messages", as("alice"))).status).toBe(404);
    running.push(await begin(world, "b1", as("bob")));
    const full = await begin(world, "c1", as("carol"));
    expect([full.status, full.headers.get("retry-after")]).toEqual([503, "1"]);
    running.push(await begin(world, "a2", as("alice")));
    open();
    for (const response of running) expect((await receive(response)).status).toBe(200);
    expect((await say(world, "hello", { chat: "a3", headers: as("alice") })).status).toBe(200);
    expect((await say(world, "hello", { chat: "c1", headers: as("carol") })).status).toBe(200);
  });

  test("never keep a person from answering", async () => {
    const { rules, open } = heldModel();
    const world = await openWorld({ rules, bridge: { limits: { turnsPerOwner: 1 } } });
    const { approvalId } = asked(await say(world, "pay"));
    const running = await begin(world, "other");
    const decided = await post(world, `/approvals/${approvalId}`, { approved: true });
    expect(decided.status).toBe(200);
    await expect.poll(() => world.payments.length).toBe(1);
    open();
    await receive(running);
    await expect.poll(async () => (await say(world, "hello")).status).toBe(200);
  });

  test("let many people answer at once before their calls run", async () => {
    // One node: what another one does meanwhile has no order.
    const folder = mkdtempSync(join(tmpdir(), "bridge-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const world = await openWorld({ store: (now) => sqliteStore({ path: join(folder, "bridge.db"), now }) });
    const chats = Array.from({ length: 12 }, (_, index) => `chat-${index}`);
    const questions: string[] = [];
    for (const chat of chats) questions.push(asked(await say(world, "pay", { chat })).approvalId);
    const paidWhenTold = await Promise.all(
      questions.map(async (approvalId) => {
        const decision = { approvalId, approved: true };
        const { outcome } = await world.bridge.decide({ owner: "local", actor: "local" }, decision);
        expect(outcome).toBe("accepted");
        return world.payments.length;
      }),
    );
    expect(Math.max(...paidWhenTold)).toBe(0);
    await expect.poll(() => world.payments.length).toBe(12);
  });

  const wires: [wire: Wire, major: (typeof majors)[number]][] = [
    ["SSE", majors[0]],
    ["SSE", majors[1]],
    ["chat wire", majors[0]],
    ["chat wire", majors[1]],
    ["AI SDK wire", majors[1]],
  ];
  test.each(wires)("a stock chat over %s recovers after the refusal (%o)", async (wire, [, ai]) => {
    const { rules, open } = heldModel();
    const world = await openWorld({ rules, bridge: { limits: { turnsPerOwner: 1 } } });
    const running = await begin(world, "other");
    const { chat, errors, settled } = stockChat(ai, world, { chat: "mine", wire });
    await chat.sendMessage({ text: "hello" });
    await settled();
    expect(chat.status).toBe("error");
    expect(errors[0]?.message).toContain("The limit of 1 turns at once per owner is reached. Try again in 1 second.");
    open();
    await receive(running);
    await chat.sendMessage();
    const messages = await settled();
    expect([chat.status, errors.length, wordsOf(messages.at(-1) ?? userMessage(""))]).toEqual([
      "ready",
      1,
      "Hello there, friend.",
    ]);
  });

  test("the socket with sequence numbers is told when to try again", async () => {
    const { rules, open } = heldModel();
    const world = await openWorld({ rules, bridge: { limits: { turnsPerOwner: 1 } } });
    const running = await begin(world, "other");
    const client = await openSocket(world, "?sequence=1");
    const frame = { type: "message", id: "mine", requestId: "r1", messages: [userMessage("hello")] };
    client.send(frame);
    const { controls } = await client.until((received) => received.controls.length > 0);
    expect(controls).toEqual([
      expect.objectContaining({ type: "refused", requestId: "r1", code: "too_many", retryAfter: 1 }),
    ]);
    open();
    await receive(running);
    client.send({ ...frame, requestId: "r2" });
    expect((await client.turn()).chunks.at(-1)?.type).toBe("finish");
  });
});

describe("chats", () => {
  test.each(storeKinds)("are limited per owner and in all ($name)", async ({ options }) => {
    const world = await openWorld({
      ...options(),
      bridge: { limits: { chatsPerOwner: 2, chats: 3 } },
      server: { authenticate },
    });
    const status = async (owner: string, chat: string) =>
      (await say(world, "hello", { chat, headers: as(owner) })).status;
    expect([await status("alice", "1"), await status("alice", "2"), await status("alice", "3")]).toEqual([
      200, 200, 429,
    ]);
    expect([await status("alice", "1"), await status("bob", "1"), await status("bob", "2")]).toEqual([200, 200, 503]);
  });
});

describe("model calls per minute", () => {
  test("are limited per owner, and a minute later the next message works", async () => {
    const world = await openWorld({
      bridge: { limits: { modelCallsPerMinutePerOwner: 2 } },
      server: { authenticate },
    });
    // One call that asks for the tool, and one that tells its result.
    expect((await say(world, "weather", { headers: as("alice") })).chunks.at(-1)?.type).toBe("finish");
    world.clock.now += 20_000;
    const refused = await post(world, "/stream", { id: "x", messages: [userMessage("hello")] }, as("alice"));
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "40"]);
    expect((await say(world, "hello", { headers: as("bob") })).status).toBe(200);
    world.clock.now += 40_000;
    expect((await say(world, "hello", { headers: as("alice") })).chunks.at(-1)?.type).toBe("finish");
  });

  test("that run out in the middle of a turn end it with a sentence, and the chat goes on afterwards", async () => {
    const world = await openWorld({ bridge: { limits: { modelCallsPerMinutePerOwner: 1 } } });
    const { chunks } = await say(world, "weather");
    expect(chunks.at(-1)).toEqual({
      type: "error",
      errorText: expect.stringContaining(
        "The limit of 1 model calls per minute and owner is reached. Try again in 60 seconds.",
      ),
    });
    world.clock.now += 60_000;
    expect((await say(world, "hello")).chunks.at(-1)?.type).toBe("finish");
    expect(world.gemini.requests.flatMap(({ contents }) => pairingErrors(contents))).toEqual([]);
  });

  test("count what a live model is told", async () => {
    const world = await openWorld({ bridge: { limits: { modelCallsPerMinutePerOwner: 1 } } });
    const client = await openSocket(world, "?sequence=1");
    client.send({ type: "message", id: "mine", messages: [userMessage("hello")] });
    expect((await client.turn()).chunks.at(-1)?.type).toBe("finish");
    client.send({ type: "message", id: "mine", requestId: "r", messages: [userMessage("hello again")] });
    const { controls } = await client.until((received) => received.controls.some(({ type }) => type === "refused"));
    expect(controls.at(-1)).toMatchObject({ code: "too_many", retryAfter: 60 });
    world.clock.now += 60_000;
    client.send({ type: "message", id: "mine", messages: [userMessage("and again")] });
    expect((await client.turn()).chunks.at(-1)?.type).toBe("finish");
  });
});

describe("live connections", () => {
  test("are limited per owner, and a chat that has one goes on", async () => {
    const world = await openWorld({ bridge: { limits: { liveConnectionsPerOwner: 1 } } });
    const client = await openSocket(world, "?sequence=1");
    const frame = (id: string, requestId: string) => ({
      ...{ type: "message", id, requestId },
      messages: [userMessage("hello")],
    });
    client.send(frame("one", "r1"));
    await client.turn();
    client.send(frame("two", "r2"));
    const { controls } = await client.until((received) => received.controls.some(({ type }) => type === "refused"));
    expect(controls.at(-1)).toMatchObject({ requestId: "r2", code: "too_many", retryAfter: 5 });
    expect((await get(world, "/stream/two/messages")).status).toBe(404);
    client.send(frame("one", "r3"));
    expect((await client.turn()).chunks.at(-1)?.type).toBe("finish");
    // By request a chat needs no connection, and this one gives its own back.
    expect((await say(world, "hello", { chat: "one" })).status).toBe(200);
    client.send(frame("two", "r4"));
    expect((await client.turn()).chunks.at(-1)?.type).toBe("finish");
  });

  test("of chats that no client uses give way to those of others", async () => {
    const world = await openWorld({ bridge: { limits: { liveConnectionsPerOwner: 2 } } });
    const client = await openSocket(world, "?sequence=1");
    const greet = (id: string) =>
      client.send({ type: "message", id, requestId: `to-${id}`, messages: [userMessage("hello")] });
    // A socket follows one chat at a time.
    for (const chat of ["one", "two", "three", "one", "four"]) {
      greet(chat);
      expect((await client.turn()).chunks.at(-1)?.type).toBe("finish");
    }
    await expect.poll(() => world.gemini.live.open).toBe(2);
    const other = await openSocket(world, "?sequence=1");
    other.send({ type: "attach", id: "one" });
    await other.until(({ controls }) => controls.some(({ type }) => type === "attached"));
    // Both connections are in use now.
    greet("five");
    const { controls } = await client.until((received) => received.controls.some(({ type }) => type === "refused"));
    expect(controls.at(-1)).toMatchObject({ requestId: "to-five", code: "too_many" });
    other.send({ type: "attach", id: "four" });
    await other.until((received) => received.controls.some(({ type }) => type === "attached"));
    greet("five");
    expect((await client.turn()).chunks.at(-1)?.type).toBe("finish");
  });

  test("of chats with a client at another node stay open", async () => {
    const world = await openWorld({
      bridge: { limits: { liveConnectionsPerOwner: 3 } },
      store: (now) => ({ ...memoryStore({ now }), isPresentElsewhere: async (key) => key.includes("one") }),
    });
    const client = await openSocket(world, "?sequence=1");
    for (const id of ["one", "two", "three", "four"]) {
      client.send({ type: "message", id, requestId: `to-${id}`, messages: [userMessage("hello")] });
      expect((await client.turn()).chunks.at(-1)?.type).toBe("finish");
    }
    const connections = world.gemini.live.sessions;
    expect(connections).toHaveLength(4);
    await expect.poll(() => connections.map(({ open }) => open)).toEqual([true, false, true, true]);
  });
});

describe("X24: many calls in one response", () => {
  const many: Rule = { when: /many/, say: Array.from({ length: 1500 }, (_, track) => call("change_bgm", { track })) };
  const tools = [
    clientTool({ name: "change_bgm", description: "Music.", parameters: z.object({ track: z.number() }) }),
  ];

  test.each(storeKinds)("wait up to the limit, and the model is told about the others ($name)", async ({ options }) => {
    const bridge = { limits: { callsPerResponse: 64 } };
    const world = await openWorld({ ...options(), tools, rules: [many, ...payRules], bridge });
    const { chunks } = await say(world, "many");
    const shown = chunks.filter(({ type }) => type === "tool-input-available");
    expect(shown).toHaveLength(65);
    expect(chunks.filter(({ type }) => type === "tool-output-error")).toEqual([
      expect.objectContaining({
        errorText:
          "One response may make at most 64 calls; this one made 1500. This call and the 1435 after it were not run. Call again in a later response.",
      }),
    ]);
    expect(await world.store.listApprovals({ state: "waiting" })).toHaveLength(64);
    // The text that follows ends the wait; each call has a response then.
    expect((await say(world, "hello")).chunks.at(-1)?.type).toBe("finish");
    expect(world.gemini.requests.flatMap(({ contents }) => pairingErrors(contents))).toEqual([]);
  });

  test("that already wait count too", async () => {
    const limits = { waitingCallsPerChat: 3, waitingCallsPerOwner: 4 };
    const few: Rule = { when: /few/, say: [1, 2].map((track) => call("change_bgm", { track })) };
    const world = await openWorld({ tools, rules: [few, ...payRules], bridge: { limits } });
    const client = await openSocket(world);
    const refusals = async (chat: string) => {
      client.send({ type: "message", id: chat, messages: [userMessage("few")] });
      const { chunks } = await client.until((received) => received.chunks.some(({ type }) => type === "finish-step"));
      return chunks.flatMap((chunk) => (chunk.type === "tool-output-error" ? [chunk.errorText] : []));
    };
    expect(await refusals("one")).toEqual([]);
    expect(await refusals("one")).toEqual(["At most 3 calls of a chat may wait at once. The tool was not run."]);
    expect(await refusals("two")).toEqual(["At most 4 calls of a user may wait at once. The tool was not run."]);
  });

  test("get a response each from a live chat", async () => {
    const rules = [{ ...many, say: (many.say as []).slice(0, 20) }, ...payRules];
    const world = await openWorld({ tools, rules, bridge: { limits: { callsPerResponse: 8 } } });
    const client = await openSocket(world);
    client.send({ type: "message", id: "mine", messages: [userMessage("many")] });
    await expect.poll(async () => (await world.store.listApprovals({ state: "waiting" })).length).toBe(8);
    const errors = () => client.frames.filter((frame) => frame.includes("One response may make at most 8 calls"));
    await expect.poll(() => errors().length).toBe(12);
  });
});

describe("the option limits", () => {
  test("is checked at the start", async () => {
    await expect(openWorld({ bridge: { limits: { turns: 0 } } })).rejects.toThrow(
      "The limit turns must be a whole number, greater than 0; it is 0.",
    );
    const typo = { turn: 5 } as object;
    await expect(openWorld({ bridge: { limits: typo } })).rejects.toThrow("There is no limit named turn here");
    await expect(openWorld({ server: { limits: typo } })).rejects.toThrow("There is no limit named turn here");
  });
});

async function get2(world: World, path: string, headers: Record<string, string>): Promise<Response> {
  return fetch(world.server.url + path, { headers });
}
