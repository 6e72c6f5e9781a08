import type { UIMessage, UIMessageChunk } from "ai";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { SseChatTransport } from "./sse-chat-transport.ts";

/** One response of the scripted server, which the test writes. */
function connection() {
  let controller: ReadableStreamDefaultController<Uint8Array>;
  const encoder = new TextEncoder();
  let isLeft = false;
  const body = new ReadableStream<Uint8Array>({
    start: (given) => void (controller = given),
    cancel: () => void (isLeft = true),
  });
  const write = (text: string) => controller.enqueue(encoder.encode(text));
  return {
    response: new Response(body),
    event: (id: number | undefined, chunk: object) =>
      write(`${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(chunk)}\n\n`),
    comment: () => write(": keep-alive\n\n"),
    done: () => {
      write("data: [DONE]\n\n");
      controller.close();
    },
    /** The page has closed it. */
    isLeft: () => isLeft,
    cut: () => controller.error(new TypeError("terminated")),
  };
}

/** A response without content as Chromium has it. */
function emptyBody(): Response {
  const body = new ReadableStream({ start: (controller) => controller.close() });
  return Object.defineProperty(new Response(null, { status: 204 }), "body", { value: body });
}

/** A transport to a scripted server. Each request takes the next response. */
function open() {
  const clock = { now: 1000 };
  const requests: { path: string; after: string | null; signal: AbortSignal | undefined }[] = [];
  const replies: (Response | Promise<Response> | Error)[] = [];
  const transport = new SseChatTransport({
    random: () => 0,
    now: () => clock.now,
    timers: {
      // Delays between attempts pass at once; limits never.
      setTimeout: (callback, ms) => (ms < 20_000 ? setTimeout(callback) : undefined),
      clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout),
    },
    async fetch(path, init) {
      requests.push({
        path: `${init.method} ${path}`,
        after: new Headers(init.headers).get("last-event-id"),
        signal: init.signal ?? undefined,
      });
      const reply = replies.shift();
      if (!reply) throw new TypeError("fetch failed");
      if (reply instanceof Error) throw reply;
      return reply;
    },
  });
  const messages: UIMessage[] = [{ id: "u1", role: "user", parts: [{ type: "text", text: "pay" }] }];
  const send = (abortSignal?: AbortSignal) =>
    transport.sendMessages({ chatId: "c/1", trigger: "submit-message", messageId: undefined, messages, abortSignal });
  return { transport, clock, requests, replies, send };
}

const start: UIMessageChunk = { type: "start", messageId: "m1" };
const delta = (word: string): UIMessageChunk => ({ type: "text-delta", id: "t", delta: word });

async function readAll(stream: ReadableStream<UIMessageChunk>, into: UIMessageChunk[] = []): Promise<UIMessageChunk[]> {
  for await (const chunk of stream) into.push(chunk);
  return into;
}

describe("a held stream over HTTP", () => {
  it("goes on after the last event when its connection was cut, without a lost or doubled chunk", async () => {
    const { requests, replies, send, transport } = open();
    const [first, second] = [connection(), connection()];
    replies.push(first.response, new TypeError("away"), new Response("", { status: 503 }), second.response);
    const chunks: UIMessageChunk[] = [];
    const reading = readAll(await send(), chunks);
    first.event(2, start);
    first.event(3, delta("a"));
    await vi.waitFor(() => expect(chunks).toHaveLength(2));
    // Without its number it comes again.
    first.event(undefined, delta("b"));
    first.cut();
    await vi.waitFor(() => expect(requests).toHaveLength(4));
    second.event(undefined, delta("b"));
    second.event(4, delta("c"));
    second.done();
    expect(await reading).toEqual([start, delta("a"), delta("b"), delta("c")]);
    expect(requests.map(({ path, after }) => [path, after])).toEqual([
      ["POST /stream", null],
      ...Array.from({ length: 3 }, () => ["GET /stream/c%2F1/stream?hold=1", "3"]),
    ]);
    expect(transport.getState()).toEqual({ status: "idle" });
  });

  it.each([
    ["begins again", () => connection()],
    ["has nothing more", () => new Response(null, { status: 204 })],
  ])("is a lost connection for the chat if the server %s", async (_, next) => {
    const { replies, send } = open();
    const first = connection();
    const then = next();
    replies.push(first.response, then instanceof Response ? then : then.response);
    const failed = readAll(await send()).then(undefined, (error: Error) => error);
    first.event(2, start);
    await new Promise((resolve) => setImmediate(resolve));
    first.cut();
    if (!(then instanceof Response)) then.event(9, start);
    expect(await failed).toMatchObject({ name: "TypeError", message: expect.stringContaining("network") });
  });

  it.each([
    ["no body", () => new Response(null, { status: 204 })],
    ["an empty body, as in Chromium", () => emptyBody()],
  ])("resumes nothing if the server has nothing to stream: %s", async (_, reply) => {
    const { transport, requests, replies } = open();
    replies.push(reply());
    expect(await transport.reconnectToStream({ chatId: "c/1" })).toBeNull();
    expect(requests).toHaveLength(1);
    expect(transport.getState()).toEqual({ status: "idle" });
  });

  it("ends with the server's sentence if the request is refused, and gives up after a while", async () => {
    const { clock, replies, send } = open();
    replies.push(Response.json({ code: "too_many", message: "Not now." }, { status: 429 }));
    await expect(send()).rejects.toMatchObject({ code: "too_many", message: "Not now.", retryAfter: 1 });
    const passing = setInterval(() => (clock.now += 30_000), 1);
    onTestFinished(() => clearInterval(passing));
    await expect(send()).rejects.toThrow("network");
    const first = connection();
    replies.push(first.response);
    const failed = readAll(await send()).then(undefined, (error: Error) => error.message);
    clock.now += 1;
    first.cut();
    expect(await failed).toContain("network connection to the chat is lost");
  });

  it("sends a message without a response again, unless the chat has it", async () => {
    const { requests, replies, send } = open();
    const paths = () => requests.splice(0).map(({ path }) => path);
    const lost = new TypeError("fetch failed");
    const page = (...ids: string[]) => Response.json({ messages: ids.map((id) => ({ id })) });
    const [first, second] = [connection(), connection()];
    replies.push(lost, lost, page("u0"), first.response);
    const sent = readAll(await send());
    first.done();
    expect(await sent).toEqual([]);
    const look = "GET /stream/c%2F1/messages?limit=20";
    expect(paths()).toEqual(["POST /stream", look, look, "POST /stream"]);
    replies.push(lost, page("u0", "u1"), second.response);
    const resumed = readAll(await send());
    second.event(7, start);
    second.done();
    expect(await resumed).toEqual([start]);
    expect(paths()).toEqual(["POST /stream", look, "GET /stream/c%2F1/stream?hold=1"]);
    // The reply is over: it is among the chat's messages.
    replies.push(lost, page("u1"), new Response(null, { status: 204 }));
    await expect(send()).rejects.toThrow("network");
  });

  it("does not stop a reply that is resumed once more before it has begun to come", async () => {
    const { requests, replies, transport } = open();
    const again = new AbortController();
    const first = connection();
    let arrive: (response: Response) => void = () => undefined;
    replies.push(new Promise<Response>((resolve) => (arrive = resolve)));
    const resumed = transport.reconnectToStream({ chatId: "c", abortSignal: again.signal });
    again.abort();
    arrive(first.response);
    const stream = await resumed.catch(() => null);
    await stream?.cancel();
    expect(requests.map(({ path }) => path)).toEqual(["GET /stream/c/stream?hold=1"]);
    const shown = connection();
    replies.push(shown.response, new Response(null, { status: 204 }));
    const stop = new AbortController();
    const chunks = readAll((await transport.reconnectToStream({ chatId: "c", abortSignal: stop.signal }))!);
    stop.abort();
    await chunks;
    expect(requests.map(({ path }) => path)).toContain("POST /stream/c/stop");
  });

  it("tells the server when the person stops, and not when the page leaves", async () => {
    const { requests, replies, send, transport } = open();
    const [first, second] = [connection(), connection()];
    replies.push(first.response);
    const stop = new AbortController();
    const stopped = readAll(await send(stop.signal));
    stop.abort();
    expect(await stopped).toEqual([]);
    expect(requests.map(({ path }) => path)).toEqual(["POST /stream", "POST /stream/c%2F1/stop"]);
    replies.length = 0;
    replies.push(second.response);
    const left = readAll(await send());
    transport.release();
    expect(await left).toEqual([]);
    expect(requests.map(({ path }) => path).slice(2)).toEqual(["POST /stream"]);
  });

  it("gives up its connection while it waits in a page that is not seen, and comes back with the page", async () => {
    const page = Object.assign(new EventTarget(), { hidden: false });
    vi.stubGlobal("document", page);
    onTestFinished(() => void vi.unstubAllGlobals());
    const { clock, requests, replies, send } = open();
    const [first, second] = [connection(), connection()];
    replies.push(first.response);
    const chunks: UIMessageChunk[] = [];
    const reading = readAll(await send(), chunks);
    first.event(2, start);
    first.event(3, { type: "finish-step" });
    await vi.waitFor(() => expect(chunks).toHaveLength(2));
    page.hidden = true;
    clock.now += 15_000;
    first.comment();
    await new Promise((resolve) => setImmediate(resolve));
    expect(first.isLeft()).toBe(false);
    clock.now += 15_000;
    first.comment();
    await vi.waitFor(() => expect(first.isLeft()).toBe(true));
    first.cut();
    await new Promise((resolve) => setImmediate(resolve));
    expect(requests).toHaveLength(1);
    replies.push(second.response);
    page.hidden = false;
    page.dispatchEvent(new Event("visibilitychange"));
    await vi.waitFor(() => expect(requests).toHaveLength(2));
    second.event(4, { type: "finish" });
    second.done();
    expect((await reading).map(({ type }) => type)).toEqual(["start", "finish-step", "finish"]);
  });
});
