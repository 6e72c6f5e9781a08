import { execFile } from "node:child_process";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import type { UIMessage, UIMessageChunk } from "ai";
import { afterEach, describe, expect, it, vi } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { type Ai, chatOver, majors, partStates, wordsOf } from "../../test/fixtures/stock-chat.ts";
import { encodeSseEvent, sseDone } from "../protocol/sse.ts";
import type { ConnectionState } from "./connection-state.ts";
import { WebSocketChatTransport, type WebSocketChatTransportOptions } from "./websocket-chat-transport.ts";

type Frame = Record<string, unknown> & { type: string };

/** The server's end of one socket, as the test plays it. Pings are answered unless it says otherwise. */
class Peer {
  readonly socket: WebSocket;
  readonly path: string;
  answersPings = true;
  pings = 0;
  readonly #frames: Frame[] = [];
  #wake = () => {};

  constructor(socket: WebSocket, path: string) {
    this.socket = socket;
    this.path = path;
    socket.on("message", (data: Buffer) => {
      const frame = JSON.parse(data.toString()) as Frame;
      if (frame.type === "ping") {
        this.pings += 1;
        if (this.answersPings) this.control({ type: "pong", timestamp: frame["timestamp"] });
        return;
      }
      this.#frames.push(frame);
      this.#wake();
    });
  }

  /** The next frame but pings. */
  async next(): Promise<Frame> {
    while (this.#frames.length === 0) await new Promise<void>((resolve) => (this.#wake = resolve));
    return this.#frames.shift()!;
  }

  get unread(): readonly Frame[] {
    return this.#frames;
  }

  control(frame: Frame): void {
    this.socket.send(JSON.stringify(frame));
  }

  chunks(first: number, ...chunks: UIMessageChunk[]): void {
    for (const [index, chunk] of chunks.entries()) this.socket.send(encodeSseEvent(chunk, first + index));
  }

  done(): void {
    this.socket.send(sseDone);
  }

  /** Takes a message and begins its turn. */
  async accept(turn: string, reply: string, sequence: number): Promise<Frame> {
    const frame = await this.next();
    this.control({ type: "accepted", requestId: frame["requestId"], turn });
    this.control({ type: "turn", turn, reply, sequence });
    return frame;
  }

  /** As a cable that is pulled. */
  cut(): void {
    this.socket.terminate();
  }
}

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
  vi.unstubAllGlobals();
});

async function script() {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  await once(server, "listening");
  const peers: Peer[] = [];
  let taken = 0;
  let wake = () => {};
  server.on("connection", (socket, request) => {
    peers.push(new Peer(socket, request.url ?? ""));
    wake();
  });
  closing.push(() => {
    for (const client of server.clients) client.terminate();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/live`,
    server,
    peers,
    async next(): Promise<Peer> {
      while (peers.length === taken) await new Promise<void>((resolve) => (wake = resolve));
      return peers[taken++]!;
    },
  };
}

/** Timers the test runs by hand. */
function manualTimers() {
  const waiting = new Map<number, { callback: () => void; at: number }>();
  const clock = { now: 1000 };
  let last = 0;
  return {
    clock,
    waiting,
    timers: {
      setTimeout: (callback: () => void, ms: number) => {
        waiting.set(++last, { callback, at: clock.now + ms });
        return last;
      },
      clearTimeout: (timer: unknown) => void waiting.delete(timer as number),
    },
    pass(ms: number): void {
      const until = clock.now + ms;
      for (;;) {
        const [due] = [...waiting].filter(([, { at }]) => at <= until).toSorted(([, a], [, b]) => a.at - b.at);
        if (!due) break;
        waiting.delete(due[0]);
        clock.now = due[1].at;
        due[1].callback();
      }
      clock.now = until;
    },
  };
}

function open(url: WebSocketChatTransportOptions["url"], options: Partial<WebSocketChatTransportOptions> = {}) {
  const transport = new WebSocketChatTransport({ url, random: () => 0, ...options });
  closing.push(() => transport.close());
  return transport;
}

/** When the connection is in a state. */
function when(transport: WebSocketChatTransport, isIt: (state: ConnectionState) => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (!isIt(transport.getState())) return;
      unsubscribe();
      resolve();
    };
    const unsubscribe = transport.subscribe(look);
    look();
  });
}

const user = (words: string, id = "u1"): UIMessage => ({ id, role: "user", parts: [{ type: "text", text: words }] });

function send(transport: WebSocketChatTransport, options: { abortSignal?: AbortSignal; chatId?: string } = {}) {
  return transport.sendMessages({
    chatId: "chat-1",
    trigger: "submit-message",
    messageId: undefined,
    messages: [user("hello")],
    abortSignal: undefined,
    ...options,
  });
}

async function read(stream: ReadableStream<UIMessageChunk>): Promise<string> {
  const words: string[] = [];
  for await (const chunk of stream) words.push(chunk.type === "text-delta" ? chunk.delta : chunk.type);
  return words.join(" ");
}

const start = (messageId: string): UIMessageChunk => ({ type: "start", messageId });
const step: UIMessageChunk = { type: "start-step" };
const endStep: UIMessageChunk = { type: "finish-step" };
const finish: UIMessageChunk = { type: "finish", finishReason: "stop" };
const words = (id: string, ...deltas: string[]): UIMessageChunk[] => [
  { type: "text-start", id },
  ...deltas.map((delta): UIMessageChunk => ({ type: "text-delta", id, delta })),
  { type: "text-end", id },
];
const delta = (text: string): UIMessageChunk => ({ type: "text-delta", id: "t", delta: text });
const pay = (call: string, approval: string): UIMessageChunk[] => [
  { type: "tool-input-start", toolCallId: call, toolName: "pay" },
  { type: "tool-input-available", toolCallId: call, toolName: "pay", input: { amount: 50 } },
  { type: "tool-approval-request", approvalId: approval, toolCallId: call },
];

describe.each(majors)("a stock chat of %s", (_, ai: Ai) => {
  it("shows a reply as it comes", async () => {
    const { url, next } = await script();
    const { chat, errors, settled } = chatOver(ai, open(url));
    const sending = chat.sendMessage({ text: "hello" });
    const peer = await next();
    expect(peer.path).toBe("/live?sequence=1");
    const frame = await peer.accept("t1", "m1", 1);
    expect(frame).toMatchObject({ type: "message", version: "1.0", id: "chat-1", trigger: "submit-message" });
    peer.chunks(2, start("m1"), step, ...words("t", "Hi ", "there."), endStep, finish);
    peer.done();
    await sending;
    const messages = await settled();
    expect(messages.map(({ id }) => id)).toEqual([expect.any(String), "m1"]);
    expect(wordsOf(messages[1]!)).toBe("Hi there.");
    expect([errors, chat.status]).toEqual([[], "ready"]);
  });

  it("answers a question on the same socket, and goes on with the same message without a start", async () => {
    const { url, next, peers } = await script();
    const stock = chatOver(ai, open(url));
    const { chat, settled } = stock;
    void chat.sendMessage({ text: "pay" });
    const peer = await next();
    await peer.accept("t1", "m1", 1);
    peer.chunks(2, start("m1"), step, ...pay("c1", "a1"), endStep);
    peer.control({ type: "parked", turn: "t1", sequence: 10 });
    await settled();
    expect(chat.status).toBe("ready");
    await chat.addToolApprovalResponse({ id: "a1", approved: true });
    const answer = await peer.accept("t2", "m1", 11);
    expect(answer).toMatchObject({
      messageId: "m1",
      messages: [{ id: "m1", parts: [{}, { state: "approval-responded", approval: { id: "a1", approved: true } }] }],
    });
    peer.chunks(
      12,
      { type: "tool-output-available", toolCallId: "c1", output: { paid: 50 } },
      step,
      ...words("t", "Paid."),
      endStep,
      finish,
    );
    peer.done();
    const messages = await settled();
    expect(messages.map(({ id }) => id)).toEqual([expect.any(String), "m1"]);
    expect(partStates(messages[1]!)).toEqual(["step-start", "tool-pay:output-available", "step-start", "text:done"]);
    await ai.validateUIMessages({ messages });
    expect([peers.length, stock.sends(), stock.errors]).toEqual([1, 2, []]);
  });

  it("shows what the model said while a question was open before the reply to the answer", async () => {
    const { url, next } = await script();
    const { chat, settled } = chatOver(ai, open(url));
    void chat.sendMessage({ text: "pay" });
    const peer = await next();
    await peer.accept("t1", "m1", 1);
    peer.chunks(2, start("m1"), step, ...pay("c1", "a1"), endStep);
    peer.control({ type: "parked", turn: "t1", sequence: 10 });
    peer.control({ type: "turn", turn: "t2", reply: "m1", sequence: 11 });
    peer.chunks(12, start("m1"), step, ...words("w", "I wait for you."), endStep, finish);
    peer.done();
    await settled();
    await chat.addToolApprovalResponse({ id: "a1", approved: false });
    await peer.accept("t3", "m1", 30);
    peer.chunks(31, { type: "tool-output-denied", toolCallId: "c1" }, step, ...words("t", "As you wish."), endStep);
    peer.chunks(50, finish);
    peer.done();
    const messages = await settled();
    expect(wordsOf(messages[1]!)).toBe("I wait for you.As you wish.");
    expect(partStates(messages[1]!)[1]).toBe("tool-pay:output-denied");
    await ai.validateUIMessages({ messages });
  });

  it("keeps the replies apart when the user writes while one streams", async () => {
    const { url, next } = await script();
    const { chat, settled, shows } = chatOver(ai, open(url));
    void chat.sendMessage({ text: "one" });
    const peer = await next();
    await peer.accept("t1", "m1", 1);
    peer.chunks(2, start("m1"), step, { type: "text-start", id: "t" }, delta("First"));
    await shows((messages) => messages.length === 2);
    void chat.sendMessage({ text: "two" });
    const second = await peer.next();
    peer.control({ type: "accepted", requestId: second["requestId"], turn: "t2" });
    peer.chunks(6, { type: "text-end", id: "t" }, endStep, { type: "abort" });
    peer.done();
    peer.control({ type: "turn", turn: "t2", reply: "m2", sequence: 10 });
    peer.chunks(11, start("m2"), step, ...words("t", "Second"), endStep, finish);
    peer.done();
    await shows((messages) => messages.some(({ id, parts }) => id === "m2" && parts.length === 2));
    const messages = await settled();
    const replies = messages.filter(({ role }) => role === "assistant");
    expect(replies.map((message) => [message.id, wordsOf(message)])).toEqual([
      ["m1", "First"],
      ["m2", "Second"],
    ]);
  });

  it("goes on with the reply after the socket was cut, without a lost or doubled word", async () => {
    const { url, next } = await script();
    const { chat, settled, shows, errors } = chatOver(ai, open(url));
    void chat.sendMessage({ text: "hello" });
    const first = await next();
    await first.accept("t1", "m1", 1);
    first.chunks(2, start("m1"), step, { type: "text-start", id: "t" }, delta("a"), delta("b"));
    await shows((messages) => messages.length === 2 && wordsOf(messages[1]!) === "ab");
    first.cut();
    const second = await next();
    expect(await second.next()).toMatchObject({ type: "attach", id: "chat-1", after: 6 });
    second.control({ type: "attached", id: "chat-1", sequence: 11, running: false });
    second.chunks(7, delta("c"), { type: "text-end", id: "t" }, endStep, finish);
    second.done();
    const messages = await settled();
    expect(wordsOf(messages[1]!)).toBe("abc");
    expect(second.unread).toEqual([]);
    expect(errors).toEqual([]);
  });

  it("sends an answer again whose acknowledgement was lost", async () => {
    const { url, next } = await script();
    const { chat, settled } = chatOver(ai, open(url));
    void chat.sendMessage({ text: "pay" });
    const first = await next();
    await first.accept("t1", "m1", 1);
    first.chunks(2, start("m1"), step, ...pay("c1", "a1"), endStep);
    first.control({ type: "parked", turn: "t1", sequence: 10 });
    await settled();
    await chat.addToolApprovalResponse({ id: "a1", approved: true });
    const answer = await first.next();
    first.cut();
    const second = await next();
    expect(await second.next()).toMatchObject({ type: "attach", after: 10 });
    second.control({ type: "attached", id: "chat-1", sequence: 20, running: false });
    expect(await second.next()).toEqual({ ...answer, resend: true });
    second.control({ type: "turn", turn: "t2", reply: "m1", sequence: 11 });
    second.chunks(12, start("m1"), { type: "tool-output-available", toolCallId: "c1", output: {} }, step);
    second.control({ type: "accepted", requestId: answer["requestId"], turn: "t2" });
    second.chunks(15, ...words("t", "Paid."), endStep, finish);
    second.done();
    const messages = await settled();
    expect(wordsOf(messages[1]!)).toBe("Paid.");
    expect(partStates(messages[1]!)[1]).toBe("tool-pay:output-available");
  });

  it("shows a refusal as an error, in the server's words", async () => {
    const { url, next } = await script();
    const { chat, errors } = chatOver(ai, open(url));
    const sending = chat.sendMessage({ text: "hello" });
    const peer = await next();
    const { requestId } = await peer.next();
    peer.control({ type: "refused", requestId, code: "too_many", message: "One thing at a time." });
    await sending;
    expect(errors.map(({ message }) => message)).toEqual(["One thing at a time."]);
    expect(chat.status).toBe("error");
  });

  it("stops: the stream ends at once and the server hears of it", async () => {
    const { url, next } = await script();
    const { chat, errors, shows } = chatOver(ai, open(url));
    void chat.sendMessage({ text: "hello" });
    const peer = await next();
    await peer.accept("t1", "m1", 1);
    peer.chunks(2, start("m1"), step, { type: "text-start", id: "t" }, delta("a"));
    await shows((messages) => messages.length === 2);
    await chat.stop();
    expect(await peer.next()).toMatchObject({ type: "interrupt" });
    expect([chat.status, errors]).toEqual(["ready", []]);
    peer.chunks(6, { type: "abort" });
    peer.done();
  });

  it("resumes the running turn from its beginning, and nothing if no turn runs", async () => {
    const { url, next } = await script();
    const { chat, settled, errors } = chatOver(ai, open(url));
    chat.messages = [user("hello"), { id: "m1", role: "assistant", parts: [{ type: "text", text: "Hal" }] }];
    const resuming = chat.resumeStream();
    const peer = await next();
    expect(await peer.next()).toMatchObject({ type: "attach", id: "chat-1" });
    peer.control({ type: "attached", id: "chat-1", sequence: 5, running: true });
    peer.control({ type: "turn", turn: "t1", reply: "m1", sequence: 1 });
    peer.chunks(2, start("m1"), step, ...words("t", "Hal", "lo"), endStep, finish);
    peer.done();
    await resuming;
    const messages = await settled();
    expect(messages).toHaveLength(2);
    expect(wordsOf(messages[1]!)).toBe("Hallo");
    const again = chat.resumeStream();
    await peer.next();
    peer.control({ type: "attached", id: "chat-1", sequence: 10, running: false });
    await again;
    expect([chat.status, errors]).toEqual(["ready", []]);
  });

  it("reports a lost connection as such, and can resume", async () => {
    const { url, next } = await script();
    const { chat, errors, shows, settled } = chatOver(ai, open(url, { giveUpMs: 0 }));
    void chat.sendMessage({ text: "hello" });
    const first = await next();
    await first.accept("t1", "m1", 1);
    first.chunks(2, start("m1"), step, { type: "text-start", id: "t" }, delta("a"));
    await shows((messages) => messages.length === 2);
    first.cut();
    await settled();
    expect(errors).toMatchObject([{ name: "TypeError", message: expect.stringContaining("network") }]);
    const resuming = chat.resumeStream();
    const second = await next();
    expect(await second.next()).toMatchObject({ type: "attach" });
    second.control({ type: "attached", id: "chat-1", sequence: 9, running: true });
    second.control({ type: "turn", turn: "t1", reply: "m1", sequence: 1 });
    second.chunks(2, start("m1"), step, ...words("t", "a", "b"), endStep, finish);
    second.done();
    await resuming;
    const messages = await settled();
    expect(messages).toHaveLength(2);
    expect(wordsOf(messages[1]!)).toBe("ab");
  });
});

describe("what is sent", () => {
  it("is the last message and the one that is named, not the whole history", async () => {
    const { url, next } = await script();
    const transport = open(url);
    const messages = Array.from({ length: 10_000 }, (_, index) => user("word", `u${index}`));
    const named: UIMessage = { id: "m1", role: "assistant", parts: [] };
    messages[5] = named;
    await transport.sendMessages({
      chatId: "chat-1",
      trigger: "submit-message",
      messageId: "m1",
      messages,
      abortSignal: undefined,
    });
    const frame = await (await next()).next();
    expect(frame["messages"]).toEqual([named, messages.at(-1)]);
  });

  it("is a new message together with the id of the one before it", async () => {
    const { url, next } = await script();
    const transport = open(url);
    const reply: UIMessage = { id: "m1", role: "assistant", parts: [{ type: "text", text: "Hi." }] };
    const messages = [user("word", "u1"), reply];
    const sent = { chatId: "chat-1", messageId: undefined, abortSignal: undefined };
    const changed = { ...sent, messages: [...messages, user("more", "u2")] };
    await transport.sendMessages({ ...changed, trigger: "submit-message" });
    const socket = await next();
    const stub = { id: "m1", role: "assistant", parts: [] };
    expect((await socket.next())["messages"]).toEqual([stub, changed.messages[2]]);
    await transport.sendMessages({ ...changed, trigger: "regenerate-message" });
    expect((await socket.next())["messages"]).toEqual([changed.messages[2]]);
  });

  it("goes to another chat on another socket, and ends the streams of the first", async () => {
    const { url, next } = await script();
    const transport = open(url);
    const first = await send(transport);
    const one = await next();
    await one.accept("t1", "m1", 1);
    const second = await send(transport, { chatId: "chat-2" });
    const two = await next();
    expect(await two.accept("t2", "m2", 1)).toMatchObject({ id: "chat-2" });
    two.chunks(2, delta("two"));
    two.done();
    await expect(read(first)).rejects.toThrow("network");
    expect(await read(second)).toBe("two");
  });

  it("waits for the page to say where the server is, and asks again with each attempt", async () => {
    const { url, next } = await script();
    let asked = 0;
    const transport = open(url, {
      url: async () => {
        asked += 1;
        if (asked === 1) throw new Error("No ticket yet.");
        return `${url}?confirmation=tool`;
      },
    });
    const stream = await send(transport);
    const peer = await next();
    expect(peer.path).toBe("/live?confirmation=tool&sequence=1");
    await peer.accept("t1", "m1", 1);
    peer.chunks(2, delta("a"));
    peer.done();
    expect(await read(stream)).toBe("a");
  });
});

describe("before its code is here, a transport", () => {
  it("does nothing but load it, and connects with the first request", async () => {
    const { url, next, peers } = await script();
    const states: string[] = [];
    const transport = open(url);
    transport.subscribe(() => states.push(transport.getState().status));
    // React makes a second one in strict mode and drops the first.
    open(url);
    expect(transport.getState()).toEqual({ status: "idle" });
    void send(transport);
    expect(transport.getState()).toEqual({ status: "connecting" });
    await (await next()).next();
    await when(transport, ({ status }) => status === "open");
    expect(states.filter((state, index) => state !== states[index - 1])).toEqual(["connecting", "open"]);
    expect(peers).toHaveLength(1);
  });

  it("does what is asked in its order", async () => {
    const { url, next } = await script();
    const transport = open(url);
    const [first, second] = [
      send(transport),
      transport.sendToolResult({ chatId: "chat-1", toolCallId: "c1", result: 1 }),
    ];
    const third = transport.reconnectToStream({ chatId: "chat-1" });
    const peer = await next();
    const frames = [await peer.next(), await peer.next()];
    expect(frames).toMatchObject([{ type: "message", messages: [{ id: "u1" }] }, { type: "tool_result" }]);
    // A stream shows the reply already.
    expect(await third).toBeNull();
    for (const [index, { requestId }] of frames.entries())
      peer.control({ type: "accepted", requestId, turn: `t${index + 1}` });
    peer.control({ type: "turn", turn: "t1", reply: "m1", sequence: 1 });
    peer.chunks(2, delta("a"));
    peer.done();
    expect(await read(await first)).toBe("a");
    peer.control({ type: "turn", turn: "t2", reply: "m1", sequence: 3 });
    await second;
  });

  it("ends a request at once that is stopped, and never sends it", async () => {
    const { url, next } = await script();
    const transport = open(url);
    const stop = new AbortController();
    const stoppedOne = send(transport, { abortSignal: stop.signal });
    const resumed = transport.reconnectToStream({ chatId: "chat-1", abortSignal: stop.signal });
    stop.abort();
    await expect(stoppedOne).rejects.toMatchObject({ name: "AbortError" });
    await expect(resumed).rejects.toMatchObject({ name: "AbortError" });
    await when(transport, ({ status }) => status === "idle");
    await send(transport);
    const peer = await next();
    expect(await peer.next()).toMatchObject({ type: "message" });
    expect(peer.unread).toEqual([]);
  });

  it("leaves a chat that is closed, and opens it again", async () => {
    const { url, next, peers } = await script();
    const transport = open(url);
    const left = send(transport);
    transport.close();
    expect(transport.getState().status).toBe("closed");
    const again = send(transport);
    await expect(left.then(read)).rejects.toThrow("closed");
    const peer = await next();
    await peer.accept("t1", "m1", 1);
    peer.chunks(2, delta("a"));
    peer.done();
    expect(await read(await again)).toBe("a");
    expect(peers).toHaveLength(1);
  });
});

describe("the connection", () => {
  it("exposes its state, and how long a ping takes", async () => {
    const { url, next } = await script();
    const manual = manualTimers();
    const transport = open(url, { now: () => manual.clock.now, timers: manual.timers });
    const states: string[] = [transport.getState().status];
    transport.subscribe(() => void states.push(transport.getState().status));
    void send(transport);
    const peer = await next();
    peer.answersPings = false;
    await peer.next();
    manual.clock.now += 42;
    peer.control({ type: "pong", timestamp: 1000 });
    await when(transport, ({ latencyMs }) => latencyMs !== undefined);
    expect(transport.getState()).toEqual({ status: "open", latencyMs: 42 });
    expect(transport.getState()).toBe(transport.getState());
    peer.cut();
    await when(transport, ({ status }) => status === "reconnecting");
    expect(transport.getState()).toEqual({ status: "reconnecting", latencyMs: 42, retryAt: manual.clock.now + 125 });
    manual.pass(125);
    await next();
    await when(transport, ({ status }) => status === "open");
    transport.close();
    expect(states.filter((state, index) => state !== states[index - 1])).toEqual([
      "idle",
      "connecting",
      "open",
      "reconnecting",
      "open",
      "closed",
    ]);
  });

  it("pings every so often, and is replaced when the server does not reply", async () => {
    const { url, next } = await script();
    const manual = manualTimers();
    const transport = open(url, { now: () => manual.clock.now, timers: manual.timers });
    const stream = await send(transport);
    const first = await next();
    await first.accept("t1", "m1", 1);
    await when(transport, ({ latencyMs }) => latencyMs !== undefined);
    expect(first.pings).toBe(1);
    first.answersPings = false;
    manual.pass(10_000);
    await vi.waitUntil(() => first.pings === 2);
    expect(transport.getState().status).toBe("open");
    manual.pass(10_000);
    expect(transport.getState().status).toBe("reconnecting");
    manual.pass(125);
    const second = await next();
    expect(await second.next()).toMatchObject({ type: "attach", after: 1 });
    expect(await second.accept("t1", "m1", 1)).toMatchObject({ resend: true });
    second.chunks(2, delta("a"));
    second.done();
    expect(await read(stream)).toBe("a");
  });

  it("tries again later and later, and gives up after a while", async () => {
    const { url, server } = await script();
    server.close();
    const manual = manualTimers();
    const transport = open(url, { now: () => manual.clock.now, timers: manual.timers, random: () => 1 });
    const delays: number[] = [];
    transport.subscribe(() => {
      const { retryAt } = transport.getState();
      if (retryAt === undefined) return;
      const delay = retryAt - manual.clock.now;
      delays.push(delay);
      queueMicrotask(() => manual.pass(delay));
    });
    const stream = await send(transport);
    await expect(read(stream)).rejects.toThrow(TypeError);
    expect(delays.slice(0, 8)).toEqual([250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
    expect(delays.reduce((sum, delay) => sum + delay, 0)).toBe(60_000);
    expect(transport.getState().status).toBe("closed");
    expect(manual.waiting.size).toBe(0);
  });

  it("starts its time to give up anew after a frame of the server, and not after a handshake alone", async () => {
    const { url, next } = await script();
    const manual = manualTimers();
    const transport = open(url, { now: () => manual.clock.now, timers: manual.timers });
    void send(transport);
    const delays: number[] = [];
    for (const speaks of [false, false, true, false]) {
      const peer = await next();
      peer.answersPings = speaks;
      await peer.next();
      if (speaks) await when(transport, ({ latencyMs }) => latencyMs !== undefined);
      peer.cut();
      await when(transport, ({ retryAt }) => retryAt !== undefined);
      delays.push(transport.getState().retryAt! - manual.clock.now);
      manual.pass(delays.at(-1)!);
    }
    expect(delays).toEqual([125, 250, 125, 250]);
  });

  it("waits while a large message goes out slowly, and is replaced when nothing moves", async () => {
    let unsent = 0;
    class SlowLine extends WebSocket {
      constructor(address: string) {
        super(address);
        Object.defineProperty(this, "bufferedAmount", { get: () => unsent });
      }
    }
    const { url, next } = await script();
    const manual = manualTimers();
    const transport = open(url, { now: () => manual.clock.now, timers: manual.timers, webSocket: SlowLine });
    void send(transport);
    const peer = await next();
    peer.answersPings = false;
    await peer.next();
    for (unsent of [4_000_000, 3_000_000, 2_000_000]) {
      manual.pass(10_000);
      expect(transport.getState().status).toBe("open");
    }
    manual.pass(10_000);
    expect(transport.getState().status).toBe("reconnecting");
  });

  it("follows its chat again when the person wants to connect after it has given up", async () => {
    const { url, next } = await script();
    const transport = open(url);
    const stream = await send(transport);
    const peer = await next();
    await peer.next();
    peer.socket.close(1008, "Not now.");
    await expect(read(stream)).rejects.toThrow("Not now.");
    transport.reconnect();
    const second = await next();
    expect(await second.next()).toMatchObject({ type: "attach", id: "chat-1" });
    await when(transport, ({ status }) => status === "open");
  });

  it.each([1003, 1007, 1008, 1009])("does not insist when it is closed with %i", async (code) => {
    const { url, next, peers } = await script();
    const transport = open(url);
    const stream = await send(transport);
    const peer = await next();
    await peer.next();
    peer.socket.close(code, "Not like this.");
    await expect(read(stream)).rejects.toThrow("Not like this.");
    expect(transport.getState().status).toBe("closed");
    expect(peers).toHaveLength(1);
  });

  it("says that the person is signed out when it is closed with 4401, and does not connect again by itself", async () => {
    const network = new EventTarget();
    vi.stubGlobal("addEventListener", network.addEventListener.bind(network));
    vi.stubGlobal("removeEventListener", network.removeEventListener.bind(network));
    const { url, next, peers } = await script();
    const manual = manualTimers();
    const transport = open(url, { now: () => manual.clock.now, timers: manual.timers });
    const seen: string[] = [];
    transport.subscribe(() => seen.push(transport.getState().status));
    const stream = await send(transport);
    const peer = await next();
    await peer.next();
    peer.socket.close(4401, "The session of this socket has ended. Sign in again.");
    await expect(read(stream)).rejects.toMatchObject({
      code: "unauthenticated",
      message: "You are signed out. Sign in again to go on.",
    });
    expect(transport.getState()).toEqual({ status: "signed-out" });
    network.dispatchEvent(new Event("online"));
    transport.reconnect();
    manual.pass(3_600_000);
    expect(peers).toHaveLength(1);
    expect(seen).not.toContain("reconnecting");

    // The person has signed in and writes again.
    const again = await send(transport);
    const second = await next();
    await second.accept("t1", "m1", 1);
    second.chunks(2, delta("a"));
    second.done();
    expect(await read(again)).toBe("a");
    expect(transport.getState().status).toBe("open");
  });

  it("asks a url function for a fresh token once when it is closed with 4401 after a while", async () => {
    const { url, next, peers } = await script();
    const manual = manualTimers();
    let tokens = 0;
    let hasToken = true;
    const address = async () => {
      if (!hasToken) throw new Error("no token");
      return `${url}?token=${++tokens}`;
    };
    const transport = open(address, { now: () => manual.clock.now, timers: manual.timers });
    const stream = await send(transport);
    const first = await next();
    await first.accept("t1", "m1", 1);
    first.chunks(2, delta("a"));
    await when(transport, ({ latencyMs }) => latencyMs !== undefined);
    manual.clock.now += 60_000;
    first.socket.close(4401);
    const second = await next();
    expect(second.path).toContain("token=2");
    expect(await second.next()).toMatchObject({ type: "attach", after: 2 });
    second.chunks(3, delta("b"));
    second.done();
    expect(await read(stream)).toBe("a b");

    // Closed again a moment later: another token would not help.
    second.socket.close(4401);
    await when(transport, ({ status }) => status === "signed-out");
    expect(peers).toHaveLength(2);

    // There is no fresh token: the person is signed out.
    const again = await send(transport);
    const third = await next();
    await third.next();
    await when(transport, ({ status }) => status === "open");
    manual.clock.now += 60_000;
    hasToken = false;
    third.socket.close(4401);
    await expect(read(again)).rejects.toMatchObject({ code: "unauthenticated" });
    expect(transport.getState().status).toBe("signed-out");
    expect(peers).toHaveLength(3);
  });

  it("connects again when the server goes away or is busy", async () => {
    const { url, next } = await script();
    const transport = open(url);
    const stream = await send(transport);
    for (const code of [1001, 1011, 1012, 1013]) {
      const peer = await next();
      await peer.next();
      peer.socket.close(code);
    }
    const peer = await next();
    expect(await peer.accept("t1", "m1", 1)).toMatchObject({ resend: true });
    peer.chunks(2, delta("a"));
    peer.done();
    expect(await read(stream)).toBe("a");
  });

  it("resumes before a frame that it could not read", async () => {
    const { url, next } = await script();
    const transport = open(url);
    const stream = await send(transport);
    const first = await next();
    await first.accept("t1", "m1", 1);
    first.chunks(2, delta("a"));
    first.socket.send("id: 3\ndata: {broken\n\n");
    first.chunks(4, delta("c"));
    const second = await next();
    expect(await second.next()).toMatchObject({ after: 2 });
    second.control({ type: "attached", id: "chat-1", sequence: 4, running: false });
    second.chunks(3, delta("b"), delta("c"));
    second.done();
    expect(await read(stream)).toBe("a b c");
  });

  it("tries at once when the network comes back", async () => {
    const network = new EventTarget();
    vi.stubGlobal("addEventListener", network.addEventListener.bind(network));
    vi.stubGlobal("removeEventListener", network.removeEventListener.bind(network));
    const { url, next } = await script();
    const manual = manualTimers();
    const transport = open(url, { now: () => manual.clock.now, timers: manual.timers });
    void send(transport);
    (await next()).cut();
    await when(transport, ({ retryAt }) => retryAt !== undefined);
    network.dispatchEvent(new Event("online"));
    const peer = await next();
    expect(await peer.next()).toMatchObject({ resend: true });
    transport.close();
    network.dispatchEvent(new Event("online"));
    expect(transport.getState().status).toBe("closed");
  });

  it("calls onChunk once for every chunk", async () => {
    const { url, next } = await script();
    const tapped: string[] = [];
    const transport = open(url, { onChunk: ({ type }) => void tapped.push(type) });
    const stream = await send(transport);
    const peer = await next();
    await peer.accept("t1", "m1", 1);
    peer.chunks(2, start("m1"), finish);
    peer.done();
    await read(stream);
    expect(tapped).toEqual(["start", "finish"]);
  });
});

describe("stopping and closing", () => {
  it("a request that is stopped before it began is never sent", async () => {
    const { url, next } = await script();
    const transport = open(url);
    const stopped = AbortSignal.abort();
    await expect(send(transport, { abortSignal: stopped })).rejects.toMatchObject({ name: "AbortError" });
    await expect(transport.reconnectToStream({ chatId: "chat-1", abortSignal: stopped })).rejects.toMatchObject({
      name: "AbortError",
    });
    expect(transport.getState().status).toBe("idle");
    const whileConnecting = new AbortController();
    const stream = await send(transport, { abortSignal: whileConnecting.signal });
    whileConnecting.abort();
    expect(await read(stream)).toBe("");
    await send(transport);
    const peer = await next();
    expect(await peer.next()).toMatchObject({ type: "message" });
    expect(peer.unread).toEqual([]);
  });

  it("a request that is stopped while the socket is away is not repeated, and what it caused is stopped", async () => {
    const { url, next } = await script();
    const transport = open(url);
    const stop = new AbortController();
    const stream = await send(transport, { abortSignal: stop.signal });
    const first = await next();
    await first.accept("t1", "m1", 1);
    first.chunks(2, delta("a"));
    await when(transport, ({ latencyMs }) => latencyMs !== undefined);
    first.cut();
    await when(transport, ({ status }) => status === "reconnecting");
    stop.abort();
    expect(await read(stream)).toBe("a");
    const second = await next();
    expect(await second.next()).toMatchObject({ type: "attach", after: 2 });
    expect(await second.next()).toMatchObject({ type: "interrupt" });
  });

  it("a reader that goes away stops nothing", async () => {
    const { url, next } = await script();
    const transport = open(url);
    const stop = new AbortController();
    const stream = await send(transport, { abortSignal: stop.signal });
    const peer = await next();
    await peer.accept("t1", "m1", 1);
    await stream.cancel();
    peer.chunks(2, delta("a"));
    peer.done();
    const again = await send(transport);
    await peer.accept("t2", "m2", 4);
    peer.chunks(5, delta("b"));
    peer.done();
    expect(await read(again)).toBe("b");
    stop.abort();
    expect(peer.unread).toEqual([]);
  });

  it("a request that is made before the code has loaded sends the messages of that moment", async () => {
    const { url, next } = await script();
    const messages = [user("hello")];
    const sent = open(url).sendMessages({
      ...{ chatId: "chat-1", trigger: "submit-message", messageId: undefined, abortSignal: undefined },
      messages,
    });
    messages.push(user("later", "u2"));
    const peer = await next();
    const frame = await peer.accept("t1", "m1", 1);
    expect(frame["messages"]).toMatchObject([{ id: "u1" }]);
    await (await sent).cancel();
  });

  it("waiting for something to resume can be stopped", async () => {
    const { url, next } = await script();
    const transport = open(url);
    const stop = new AbortController();
    const resuming = transport.reconnectToStream({ chatId: "chat-1", abortSignal: stop.signal });
    await (await next()).next();
    stop.abort();
    await expect(resuming).rejects.toMatchObject({ name: "AbortError" });
  });

  it("a closed transport leaves nothing running, ends its streams, and opens again when asked", async () => {
    const { url, next, server } = await script();
    const manual = manualTimers();
    const transport = open(url, { now: () => manual.clock.now, timers: manual.timers });
    const stream = await send(transport);
    const first = await next();
    await first.accept("t1", "m1", 1);
    transport.close();
    await expect(read(stream)).rejects.toThrow("closed");
    expect(manual.waiting.size).toBe(0);
    await once(first.socket, "close");
    expect(server.clients.size).toBe(0);
    const again = await send(transport);
    const second = await next();
    expect(await second.accept("t2", "m2", 4)).not.toHaveProperty("resend");
    second.chunks(5, delta("b"));
    second.done();
    expect(await read(again)).toBe("b");
  });

  it("lets the process end", async () => {
    const { url, next } = await script();
    const program = `
      import { WebSocketChatTransport } from ${JSON.stringify(new URL("index.ts", import.meta.url).href)};
      const ask = (url) => {
        const transport = new WebSocketChatTransport({ url });
        const messages = [{ id: "u1", role: "user", parts: [] }];
        return transport.sendMessages({ chatId: "c", trigger: "submit-message", messages }).then((stream) => ({ transport, stream }));
      };
      const open = await ask(${JSON.stringify(url)});
      await new Promise((resolve) => open.transport.subscribe(() => open.transport.getState().latencyMs !== undefined && resolve()));
      const lost = await ask("http://127.0.0.1:9/live");
      await new Promise((resolve) => lost.transport.subscribe(() => lost.transport.getState().retryAt && resolve()));
      const connecting = await ask(${JSON.stringify(url)});
      for (const { transport } of [open, lost, connecting]) transport.close();
      process.on("exit", () => console.log("ended after " + process.uptime()));
    `;
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program]);
    expect(stdout).toMatch(/^ended after/);
    await (await next()).next();
  });

  it("closing while it waits for another attempt leaves no timer", async () => {
    const { url, next, peers } = await script();
    const manual = manualTimers();
    const transport = open(url, { now: () => manual.clock.now, timers: manual.timers });
    const stream = await send(transport);
    (await next()).cut();
    await when(transport, ({ retryAt }) => retryAt !== undefined);
    transport.close();
    await expect(read(stream)).rejects.toThrow("closed");
    expect(manual.waiting.size).toBe(0);
    manual.pass(60_000);
    expect([peers.length, transport.getState().status]).toEqual([1, "closed"]);
  });
});
