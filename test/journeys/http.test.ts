import { getEventListeners } from "node:events";
import { connect } from "node:net";
import { call, gate, inlineData, pause, type Rule, text } from "adk-stream-protocol/testing";
import { listen } from "adk-stream-protocol/server";
import { describe, expect, it, vi } from "vitest";
import { majors, partStates, stockChat, toolParts } from "../fixtures/stock-chat.ts";
import {
  afterTools,
  answer,
  asked,
  get,
  idle,
  messageIdOf,
  openWorld,
  payRules,
  post,
  receive,
  say,
  sequence,
  textOf,
  userMessage,
  type World,
} from "../fixtures/world.ts";

const submit = (words: string, chat = "chat-1") => ({
  id: chat,
  messages: [userMessage(words)],
  trigger: "submit-message",
});
const resume = (world: World, headers: Record<string, string> = {}) =>
  fetch(`${world.server.url}/stream/chat-1/stream`, { headers });
const messagesOf = async (world: World) => (await get(world, "/stream/chat-1/messages")).body.messages;
const textIn = (message: { parts: { type: string; text?: string }[] }) =>
  message.parts.map((part) => part.text ?? "").join("");

/** A model that stops in the middle of "One two three." until the test lets it continue. */
function heldModel(when: Rule["when"] = /story/) {
  const { opened, open } = gate();
  const rules: Rule[] = [
    { ...(when && { when }), say: [text("One two "), pause(opened), text("three.")] },
    ...payRules,
  ];
  return { rules, open };
}

/** Reads until the text has come, and leaves the rest unread. */
async function readUntil(
  response: Response,
  wanted: string,
): Promise<{ seen: string; rest(): Promise<string>; cancel(): Promise<void> }> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let seen = "";
  while (!seen.includes(wanted)) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`The stream ended before ${wanted}: ${seen}`);
    seen += value;
  }
  return {
    seen,
    async rest() {
      for (let read = await reader.read(); !read.done; read = await reader.read()) seen += read.value;
      return seen;
    },
    cancel: () => reader.cancel(),
  };
}

describe("a stream", () => {
  it("has the headers of a UI message stream, and ids that only rise", async () => {
    const world = await openWorld();
    const response = await post(world, "/stream", submit("pay"));
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/event-stream",
      "cache-control": "no-cache",
      "x-vercel-ai-ui-message-stream": "v1",
      "x-accel-buffering": "no",
      connection: "keep-alive",
    });
    const question = await receive(response);
    const reply = await answer(world, [{ ...asked(question), approved: true }]);
    const more = await say(world, "hello");
    const ids = [...question.ids, ...reply.ids, ...more.ids];
    expect(ids).toHaveLength(question.chunks.length + reply.chunks.length + more.chunks.length);
    for (const [index, id] of ids.entries()) expect(id).toBeGreaterThan(ids[index - 1] ?? 0);
    expect(question.body.endsWith("\n\ndata: [DONE]\n\n")).toBe(true);
  });

  it("sends each word as soon as the model says it", async () => {
    const { rules, open } = heldModel();
    const world = await openWorld({ rules });
    const stream = await readUntil(await post(world, "/stream", submit("a story")), '"delta":"two "');
    expect(stream.seen).not.toContain("three");
    open();
    expect(await stream.rest()).toContain('"delta":"three."');
  });

  it("is the only kind of response that is not JSON; JSON responses are not cached", async () => {
    const world = await openWorld();
    const { headers } = await fetch(`${world.server.url}/health`);
    expect(Object.fromEntries(headers)).toMatchObject({
      "content-type": "application/json; charset=utf-8",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    });
  });
});

describe("resuming", () => {
  it("replays the running turn from its start to every reader", async () => {
    const { rules, open } = heldModel();
    const world = await openWorld({ rules });
    await say(world, "hello");
    const first = await readUntil(await post(world, "/stream", submit("a story")), '"delta":"two "');
    const [second, third] = await Promise.all([resume(world), resume(world)]);
    expect(second.headers.get("x-vercel-ai-ui-message-stream")).toBe("v1");
    open();
    const whole = await first.rest();
    expect(await second.text()).toBe(whole);
    expect(await third.text()).toBe(whole);
    expect(whole.match(/"type":"start"/g)).toHaveLength(1);
  });

  it("sends only what comes after Last-Event-ID, without gaps or repetitions", async () => {
    const { rules, open } = heldModel();
    const world = await openWorld({ rules });
    const first = await readUntil(await post(world, "/stream", submit("a story")), '"delta":"two "');
    const ids = [...first.seen.matchAll(/^id: (\d+)$/gm)].map((match) => match[1]!);
    const tails = await Promise.all(ids.map((id) => resume(world, { "last-event-id": id })));
    const odd = await Promise.all(
      ["", "x", "-1", "1e3", "1.5", "0"].map((id) => resume(world, { "last-event-id": id })),
    );
    const ahead = await resume(world, { "last-event-id": "999999" });
    open();
    const whole = await first.rest();
    for (const [index, id] of ids.entries())
      expect(await tails[index]!.text()).toBe(whole.split(`id: ${id}\n`)[1]!.replace(/^data: .*\n\n/, ""));
    for (const response of odd) expect(await response.text()).toBe(whole);
    expect(await ahead.text()).toBe("data: [DONE]\n\n");
  });

  it("responds with 204 when nothing is being generated", async () => {
    const world = await openWorld();
    expect((await resume(world)).status).toBe(204);
    await say(world, "hello");
    expect((await resume(world)).status).toBe(204);
    const question = await say(world, "pay");
    expect((await resume(world)).status).toBe(204);
    await answer(world, [{ ...asked(question), approved: true }]);
    const after = await resume(world);
    expect(after.status).toBe(204);
    expect(await after.text()).toBe("");
  });

  for (const [major, ai] of majors) {
    it(`gives ${major} each word once after a reload`, async () => {
      const { rules, open } = heldModel();
      const world = await openWorld({ rules });
      const before = await readUntil(await post(world, "/stream", submit("a story")), '"delta":"two "');
      await before.cancel();
      const { chat, settled, errors } = stockChat(ai, world);
      chat.messages = await messagesOf(world);
      expect(chat.messages).toHaveLength(1);
      const resumed = chat.resumeStream();
      await vi.waitFor(() => expect(textIn(chat.lastMessage as never)).toContain("two"), { timeout: 10_000 });
      open();
      await resumed;
      const messages = await settled();
      expect(errors).toEqual([]);
      expect(messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
      expect(textIn(messages[1] as never)).toBe("One two three.");
      expect((await messagesOf(world)).map(partStates)).toEqual(messages.map(partStates));
    });

    it.each([
      ["", true, "output-available"],
      // `ai@6` has no chunk for a no that the chat itself did not give. There it becomes an error with the reason.
      ["", false, "output-error"],
      ["?confirmation=tool", true, "output-available"],
      ["?confirmation=tool", false, "output-error"],
    ] as const)(
      `gives ${major}%s the rest of a message after a reload, with the answer: %s`,
      async (query, approved, state) => {
        const { rules, open } = heldModel(afterTools.when);
        const world = await openWorld({ rules, server: { confirmation: query === "" ? "approval" : "tool" } });
        const { approvalId } = asked(await say(world, "pay", { query: "?confirmation=approval" }));
        await post(world, `/approvals/${approvalId}`, { approved, reason: "so be it" });
        await world.gemini.waitForRequest(2);
        const { chat, settled, errors } = stockChat(ai, world);
        chat.messages = await messagesOf(world);
        const resumed = chat.resumeStream();
        await vi.waitFor(() => expect(textIn(chat.lastMessage as never)).toContain("two"), { timeout: 10_000 });
        open();
        await resumed;
        const messages = await settled();
        expect(errors).toEqual([]);
        expect(messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
        expect(toolParts(ai, messages[1]!)[0]!.state).toBe(state);
        if (!approved) expect(toolParts(ai, messages[1]!)[0]!.errorText).toContain("so be it");
        expect(textIn(messages[1] as never)).toBe("One two three.");
        await ai.validateUIMessages({ messages });
        const expected = (await messagesOf(world)).map(partStates);
        expect(messages.map(partStates)).toEqual(
          expected.map((parts: string[]) => parts.map((part) => part.replace("output-denied", state))),
        );
      },
    );
  }
});

describe("a client that goes away", () => {
  it("does not stop the turn", async () => {
    const { rules, open } = heldModel();
    const world = await openWorld({ rules });
    const leaving = new AbortController();
    const response = await fetch(`${world.server.url}/stream`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(submit("a story")),
      signal: leaving.signal,
    });
    await readUntil(response, '"delta":"two "');
    leaving.abort();
    open();
    expect(await world.gemini.waitForEnd(1)).toBe("sent");
    await idle(world);
    const [, reply] = await messagesOf(world);
    expect(textIn(reply)).toBe("One two three.");
  });

  it("does not stop the payment if it goes away between its yes and the outcome", async () => {
    const { rules, open } = heldModel(afterTools.when);
    const world = await openWorld({ rules });
    const { approvalId } = asked(await say(world, "pay"));
    const socket = connect(world.server.port, "127.0.0.1");
    const body = JSON.stringify({
      id: "chat-1",
      messages: [
        { role: "user", content: [{ type: "tool-result", toolCallId: approvalId, result: { confirmed: true } }] },
      ],
    });
    socket.write(
      `POST /stream HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await world.gemini.waitForRequest(2);
    socket.destroy();
    open();
    await idle(world);
    expect(world.payments).toHaveLength(1);
    expect(textIn((await messagesOf(world))[1])).toBe("One two three.");
  });

  it("does not delay others if it stays but does not read", async () => {
    const { opened, open } = gate();
    // More than the operating system buffers for a connection without a reader.
    const pictures = Array.from({ length: 96 }, () => inlineData("image/png", "A".repeat(128 * 1024)));
    const world = await openWorld({ rules: [{ say: [...pictures, pause(opened), text("The end.")] }] });
    const body = JSON.stringify(submit("a story"));
    const slow = connect(world.server.port, "127.0.0.1");
    slow.pause();
    slow.write(
      `POST /stream HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await world.gemini.waitForRequest(1);
    const other = await resume(world);
    open();
    const whole = await receive(other);
    expect(sequence(whole)).toBe(`start ss${" file".repeat(96)} text fs finish [DONE]`);
    expect(slow.bytesRead).toBeLessThan(whole.body.length);
    expect(world.gemini.requests).toHaveLength(1);
    expect((await get(world, "/health")).status).toBe(200);

    // The client can still read everything later, because the reply is in the log and not in memory.
    let late = "";
    slow.on("data", (piece) => (late += piece.toString()));
    const ended = new Promise<void>((resolve) => slow.once("end", () => resolve()));
    slow.resume();
    await ended;
    expect(late.match(/"type":"file"/g)).toHaveLength(96);
    expect(late).toContain("data: [DONE]");
  });
});

describe("stopping", () => {
  it("ends the turn and the model's work, and the chat continues", async () => {
    const { rules } = heldModel();
    const world = await openWorld({ rules });
    const stream = await readUntil(await post(world, "/stream", submit("a story")), '"delta":"two "');
    expect(await (await post(world, "/stream/chat-1/stop", "")).json()).toEqual({ stopped: true });
    expect(await world.gemini.waitForEnd(1)).toBe("disconnected");
    const received = await receive(new Response(await stream.rest()));
    expect(sequence(received)).toBe("start ss text fs abort [DONE]");
    expect(await (await post(world, "/stream/chat-1/stop", "")).json()).toEqual({ stopped: false });
    expect((await resume(world)).status).toBe(204);
    expect(sequence(await say(world, "hello"))).toBe("start ss text fs finish [DONE]");
    const messages = await messagesOf(world);
    expect(messages.map(textIn)).toEqual(["a story", "One two ", "hello", "Hello there, friend."]);
    for (const [, ai] of majors) await ai.validateUIMessages({ messages });
  });

  it("leaves an open question open", async () => {
    const world = await openWorld();
    const question = await say(world, "pay");
    expect(await (await post(world, "/stream/chat-1/stop", "")).json()).toEqual({ stopped: false });
    await answer(world, [{ ...asked(question), approved: true }]);
    expect(world.payments).toHaveLength(1);
  });

  it("happens to the running turn when a new message comes", async () => {
    const { rules } = heldModel();
    const world = await openWorld({ rules });
    const stream = await readUntil(await post(world, "/stream", submit("a story")), '"delta":"two "');
    const next = await say(world, "hello");
    expect(sequence(next)).toBe("start ss text fs finish [DONE]");
    expect(sequence(await receive(new Response(await stream.rest())))).toBe("start ss text fs abort [DONE]");
    expect(Math.min(...next.ids)).toBeGreaterThan(
      Number(/id: (\d+)\ndata: {"type":"abort"/.exec(await stream.rest())![1]),
    );
    expect(world.gemini.requests.flatMap(({ pairingErrors }) => pairingErrors)).toEqual([]);
  });

  for (const [major, ai] of majors)
    it(`leaves the chat usable with ${major}`, async () => {
      const { rules } = heldModel();
      const world = await openWorld({ rules });
      const { chat, settled, errors } = stockChat(ai, world);
      const sent = chat.sendMessage({ text: "a story" });
      await world.gemini.waitForRequest(1);
      await post(world, "/stream/chat-1/stop", "");
      await sent;
      await chat.sendMessage({ text: "hello" });
      const messages = await settled();
      expect(errors).toEqual([]);
      expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
    });
});

describe("regenerating a reply", () => {
  const counting = (): Rule[] => [...payRules.slice(0, -1), { say: ({ request }) => [text(`Answer ${request}.`)] }];
  const again = (world: World, more: object = {}) =>
    post(world, "/stream", { ...submit("hello"), trigger: "regenerate-message", ...more });

  it("removes the last reply, for the chat and for the model", async () => {
    const world = await openWorld({ rules: counting() });
    await say(world, "first");
    const old = await say(world, "second");
    const fresh = await receive(await again(world, { messageId: messageIdOf(old) }));
    expect(sequence(fresh)).toBe("start ss text fs finish [DONE]");
    expect(messageIdOf(fresh)).not.toBe(messageIdOf(old));
    expect((await messagesOf(world)).map(textIn)).toEqual(["first", "Answer 1.", "second", "Answer 3."]);
    expect(world.gemini.requests[2]!.contents.map(({ parts }) => parts?.[0]?.text)).toEqual([
      "first",
      "Answer 1.",
      "second",
    ]);
  });

  for (const [major, ai] of majors)
    it(`leaves one reply with ${major}`, async () => {
      const world = await openWorld({ rules: counting() });
      const { chat, requests, settled, errors } = stockChat(ai, world);
      await chat.sendMessage({ text: "hello" });
      await chat.regenerate();
      await chat.regenerate();
      const messages = await settled();
      expect(errors).toEqual([]);
      expect(requests).toHaveLength(3);
      expect(messages.map((message) => textIn(message as never))).toEqual(["hello", "Answer 3."]);
      expect((await messagesOf(world)).map(textIn)).toEqual(["hello", "Answer 3."]);
    });

  it("keeps the calls that ran in the reply, and repeats none", async () => {
    const world = await openWorld();
    const paid = asked(await say(world, "pay"));
    await answer(world, [{ ...paid, approved: true }]);
    await say(world, "weather", { chat: "chat-2" });
    for (const id of ["chat-1", "chat-2"])
      expect(sequence(await receive(await again(world, { id })))).toBe(
        "start ss tis tia toa fs ss text fs finish [DONE]",
      );
    expect(await messagesOf(world)).toHaveLength(2);
    expect(world.payments).toHaveLength(1);
  });

  it("cancels an open question and asks a new one", async () => {
    const world = await openWorld();
    const old = asked(await say(world, "pay"));
    const fresh = await receive(await again(world, { messageId: old.messageId }));
    expect(sequence(fresh)).toBe("start ss tis tia tar fs finish [DONE]");
    expect(asked(fresh).approvalId).not.toBe(old.approvalId);
    expect(sequence(await answer(world, [{ ...old, approved: true }]))).toBe("start toe ss fs finish [DONE]");
    expect(world.payments).toEqual([]);
    await answer(world, [{ ...asked(fresh), approved: true }]);
    expect(world.payments).toHaveLength(1);
    expect(world.gemini.requests.flatMap(({ pairingErrors }) => pairingErrors)).toEqual([]);
  });

  it("works after a no, because nothing ran", async () => {
    const world = await openWorld();
    const question = asked(await say(world, "pay"));
    await answer(world, [{ ...question, approved: false }]);
    const fresh = await receive(await again(world, { messageId: question.messageId }));
    expect(sequence(fresh)).toBe("start ss tis tia tar fs finish [DONE]");
    expect(await messagesOf(world)).toHaveLength(2);
  });

  it("works for any reply, and only if there is one", async () => {
    const world = await openWorld();
    const first = await say(world, "hello");
    await say(world, "hello");
    const nowhere = await again(world, { id: "chat-9" });
    expect(nowhere.status).toBe(404);
    const unknown = await again(world, { messageId: "nothing" });
    expect(unknown.status).toBe(404);
    expect(await unknown.json()).toMatchObject({ code: "not_found", message: expect.stringContaining("nothing") });
    expect(await messagesOf(world)).toHaveLength(4);
    expect((await receive(await again(world, { messageId: messageIdOf(first) }))).status).toBe(200);
    expect(await messagesOf(world)).toHaveLength(2);
  });

  it("stops the reply if it is still being generated", async () => {
    const { rules, open } = heldModel(({ request }) => request === 1);
    const world = await openWorld({ rules });
    const stream = await readUntil(await post(world, "/stream", submit("a story")), '"delta":"two "');
    const fresh = await receive(await again(world));
    open();
    expect(textOf(fresh)).toBe("Hello there, friend.");
    expect(sequence(await receive(new Response(await stream.rest())))).toBe("start ss text fs abort [DONE]");
    expect((await messagesOf(world)).map(textIn)).toEqual(["a story", "Hello there, friend."]);
  });
});

describe("listening", () => {
  it("on an address that other machines can reach needs authentication", async () => {
    const { bridge } = await openWorld();
    for (const host of ["0.0.0.0", "::", "192.168.0.1", "example.com"])
      await expect(listen({ bridge, port: 0, host })).rejects.toThrow("needs an authenticate hook");
  });

  it("on IPv6 has an address that works", async () => {
    const { bridge } = await openWorld();
    const server = await listen({ bridge, port: 0, host: "::1" });
    expect(await (await fetch(`${server.url}/health`)).json()).toEqual({ ok: true });
    await server.close();
  });

  it("keeps a connection open for longer than balancers do", async () => {
    const { bridge } = await openWorld();
    const server = await listen({ bridge, port: 0 });
    const response = await fetch(`${server.url}/chats`);
    expect(response.headers.get("keep-alive")).toBe("timeout=75");
    await response.text();
    await server.close();
  });

  it("ends replies in order if the bridge was closed first", async () => {
    const { bridge } = await openWorld();
    const [came, known] = [gate(), gate()];
    const authenticate = async () => {
      came.open();
      await known.opened;
      return { owner: "me" };
    };
    const server = await listen({ bridge, port: 0, authenticate });
    const reply = fetch(`${server.url}/chats`);
    await came.opened;
    await bridge.close();
    const closed = server.close();
    await expect(fetch(`${server.url}/health`)).rejects.toThrow("fetch failed");
    known.open();
    expect((await reply).status).toBe(200);
    await closed;
  });

  it("goes on with the old options if the next ones would let in everyone", async () => {
    const { bridge } = await openWorld();
    const server = await listen({ bridge, port: 0, host: "0.0.0.0", authenticate: () => undefined });
    await expect(server.replace(async () => ({ bridge }))).rejects.toThrow("needs an authenticate hook");
    const { port } = server;
    // Node's fetch does not let a client choose the Host. This one says that it is on the same machine.
    const reply = await exchange(port, "GET /approvals HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    expect(reply).toMatch(/^HTTP\/1\.1 401 /);
    await server.close();
  });

  it("goes on with the old options if the next ones are not valid", async () => {
    const { bridge } = await openWorld();
    const server = await listen({ bridge, port: 0, health: () => ({ version: 1 }) });
    const replaced = server.replace(async () => ({ bridge, authenticateMs: -1 }));
    const waiting = fetch(`${server.url}/health`);
    await expect(replaced).rejects.toThrow("authenticateMs");
    expect(await (await waiting).json()).toEqual({ ok: true, version: 1 });
    // The WebSocket is back too.
    await expect(server.replace(async () => ({ bridge, health: () => ({ version: 2 }) }))).resolves.toBeUndefined();
    await server.close();
  });

  it("takes one replacement after the other", async () => {
    const { bridge } = await openWorld();
    const server = await listen({ bridge, port: 0 });
    const versions: number[] = [];
    const replaced = [1, 2, 3].map((version) =>
      server.replace(async () => {
        versions.push(version);
        return { bridge, health: () => ({ version }) };
      }),
    );
    const waiting = fetch(`${server.url}/health`);
    await Promise.all(replaced);
    expect(versions).toEqual([1, 2, 3]);
    expect(await (await waiting).json()).toEqual({ ok: true, version: 3 });
    await server.close();
  });

  it("leaves nothing open if it is closed while its options are replaced", async () => {
    const { bridge } = await openWorld();
    const listeners = () => getEventListeners(bridge.stopping, "abort").length;
    const before = listeners();
    const server = await listen({ bridge, port: 0 });
    const { opened, open } = gate();
    let hasBegun = () => {};
    const begun = new Promise<void>((resolve) => (hasBegun = resolve));
    const replaced = server.replace(async () => {
      hasBegun();
      await opened;
      return { bridge };
    });
    await begun;
    await server.close();
    open();
    await expect(replaced).rejects.toThrow("The server is closed");
    // A WebSocket endpoint hears of the bridge's end until it is closed.
    expect(listeners()).toBe(before);
    await expect(server.replace(() => Promise.reject(new Error("asked")))).rejects.toThrow("The server is closed");
  });
});

/** What the server writes on a connection that sends these bytes. */
async function exchange(port: number, bytes: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.write(bytes);
  let reply = "";
  for await (const piece of socket) reply += String(piece);
  return reply;
}

describe("the application's own pages and routes", () => {
  it("get every request that is not for the bridge, together with the owner", async () => {
    const seen: string[] = [];
    const world = await openWorld({
      rules: [{ say: [call("get_weather", { location: "Tokyo" })] }],
      server: {
        health: () => ({ version: 7 }),
        fallback: (request, owner) => {
          const { pathname } = new URL(request.url);
          seen.push(`${owner} ${request.method} ${pathname}`);
          if (pathname !== "/page") return undefined;
          const headers = new Headers({ "content-type": "text/html" });
          headers.append("set-cookie", "a=1");
          headers.append("set-cookie", "b=2");
          return new Response("<p>", { headers });
        },
      },
    });
    const page = await fetch(`${world.server.url}/page`);
    expect(await page.text()).toBe("<p>");
    expect(page.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect((await fetch(`${world.server.url}/other`)).status).toBe(404);
    expect((await get(world, "/health")).body).toEqual({ ok: true, version: 7 });
    expect(seen).toEqual(["local GET /page", "local GET /other"]);
  });
});
