import { expect, test } from "vitest";
import { createStreamTap, type TapOptions } from "./stream-tap.ts";

const now = () => 0;
const schedule: NonNullable<TapOptions["schedule"]> = (draw) => draw();

function respondWith(text: string, contentType = "text/event-stream"): typeof fetch {
  return async () => new Response(text, { headers: { "content-type": contentType } });
}

const lines = (tap: ReturnType<typeof createStreamTap>) =>
  tap.entries().map((entry) => (entry.kind === "chunk" ? `${entry.sequence ?? "-"} ${entry.type}` : entry.kind));

const read = async (tap: ReturnType<typeof createStreamTap>, method = "POST") => {
  const response = await tap.fetch("/stream", { method });
  const text = await response.text();
  // Let the tap finish its own copy of the body.
  await new Promise((resolve) => setTimeout(resolve));
  return text;
};

const story = 'id: 1\ndata: {"type":"start"}\n\nid: 2\ndata: {"type":"finish"}\n\ndata: [DONE]\n\n';

test("records the chunks with their numbers while the chat reads the unchanged response", async () => {
  const tap = createStreamTap({ fetch: respondWith(story), now, schedule });
  expect(await read(tap)).toBe(story);
  expect(lines(tap)).toEqual(["request", "1 start", "2 finish", "done"]);
});

test("does not record chunks of a replay twice", async () => {
  const replay = 'data: {"type":"start"}\n\nid: 1\ndata: {"type":"start"}\n\nid: 3\ndata: {"type":"text-start"}\n\n';
  const bodies = [story, replay];
  const tap = createStreamTap({ fetch: async (...call) => respondWith(bodies.shift() ?? "")(...call), now, schedule });
  await read(tap);
  await read(tap, "GET");
  expect(lines(tap)).toEqual(["request", "1 start", "2 finish", "done", "request", "3 text-start"]);
});

test("keeps only the newest lines", async () => {
  const tap = createStreamTap({ fetch: respondWith(story), limit: 2, now, schedule });
  await read(tap);
  expect(lines(tap)).toEqual(["2 finish", "done"]);
});

test("ignores other responses and text that is not a chunk", async () => {
  const json = createStreamTap({ fetch: respondWith('{"error":{}}', "application/json"), now, schedule });
  expect(await read(json)).toBe('{"error":{}}');
  expect(lines(json)).toEqual([]);
  const broken = createStreamTap({ fetch: respondWith(": keep-alive\n\ndata: {oops\n\n"), now, schedule });
  await read(broken);
  expect(lines(broken)).toEqual(["request"]);
});

test("records what was sent, and only the beginning of what is long", async () => {
  const tap = createStreamTap({ fetch: respondWith(story), now, schedule });
  const bodies = ['{"id":"c"}', "not JSON", "x".repeat(30_000)];
  for (const body of bodies) await (await tap.fetch("/stream", { method: "POST", body })).text();
  const kept = tap.entries().flatMap((entry) => (entry.kind === "request" ? [entry.body] : []));
  expect(kept.slice(0, 2)).toEqual([{ id: "c" }, "not JSON"]);
  expect(kept[2]).toMatch(/^x{20000}… \(30000 characters\)$/);
});

/** A WebSocket whose server side is played by the test. */
class FakeSocket extends EventTarget {
  static sent: string[] = [];
  send(data: string): void {
    FakeSocket.sent.push(data);
  }
  receive(data: string): void {
    this.dispatchEvent(new MessageEvent("message", { data }));
  }
  closeWith(code: number): void {
    this.dispatchEvent(Object.assign(new Event("close"), { code }));
  }
}

function openSocket() {
  const tap = createStreamTap({ webSocket: FakeSocket as unknown as new (url: string) => WebSocket, now, schedule });
  const chunkTypes: string[] = [];
  tap.onChunk((type) => chunkTypes.push(type));
  const connect = () => {
    const socket = new tap.webSocket("ws://page/live") as unknown as FakeSocket;
    socket.dispatchEvent(new Event("open"));
    return socket;
  };
  const recorded = () =>
    tap.entries().map((entry) => {
      if (entry.kind === "frame") return `> ${entry.type}`;
      if (entry.kind === "socket") return entry.event;
      return entry.kind === "chunk" ? `${entry.sequence ?? "-"} ${entry.type}` : entry.kind;
    });
  return { connect, recorded, chunkTypes };
}

test("records a WebSocket in both directions, without pings and control frames", () => {
  const { connect, recorded, chunkTypes } = openSocket();
  const socket = connect();
  const user = [{ role: "user", parts: [] }];
  for (const frame of [
    { type: "ping", timestamp: 1 },
    { type: "message", messages: user },
    { type: "message", messages: user, trigger: "regenerate-message", messageId: "m" },
    { type: "interrupt" },
  ])
    socket.send(JSON.stringify(frame));
  socket.receive('{"type":"pong","timestamp":1}');
  socket.receive('{"type":"accepted","requestId":"r","turn":"t"}');
  socket.receive('{"type":"turn","turn":"t","reply":"m","sequence":1}');
  socket.receive('id: 2\ndata: {"type":"start","messageId":"\u2028"}\n\n');
  socket.receive('{"type":"parked","turn":"t","sequence":3}');
  socket.receive('data: {"type":"tool-output-available"}\n\n');
  socket.receive("data: [DONE]\n\n");
  expect(recorded()).toEqual([
    "opened",
    "> message",
    "> regenerate",
    "> interrupt",
    "2 start",
    "parked",
    "- tool-output-available",
    "done",
  ]);
  expect(chunkTypes).toEqual(["start", "parked", "tool-output-available"]);
  expect(FakeSocket.sent).toHaveLength(4);
});

test("does not record twice what a new WebSocket repeats", () => {
  const { connect, recorded } = openSocket();
  const first = connect();
  first.receive('{"type":"turn","turn":"t","reply":"m","sequence":1}');
  first.receive('id: 2\ndata: {"type":"start"}\n\n');
  first.receive('id: 3\ndata: {"type":"finish"}\n\n');
  first.receive("data: [DONE]\n\n");
  first.closeWith(1006);
  const second = connect();
  second.receive('{"type":"attached","id":"c","sequence":4,"running":true}');
  second.receive('{"type":"turn","turn":"t","reply":"m","sequence":1}');
  second.receive('data: {"type":"start"}\n\n');
  second.receive('id: 3\ndata: {"type":"finish"}\n\n');
  second.receive("data: [DONE]\n\n");
  expect(recorded()).toEqual(["opened", "2 start", "3 finish", "done", "lost", "opened"]);
  second.receive('{"type":"turn","turn":"aside","reply":"m","sequence":4}');
  second.receive('data: {"type":"start"}\n\n');
  second.closeWith(1000);
  expect(recorded().slice(6)).toEqual(["- start"]);
});

test("ignores frames that are not text, not an event or not JSON", () => {
  const { connect, recorded } = openSocket();
  const socket = connect();
  for (const data of ["", "{", "{}", "data: {oops\n\n", ": keep-alive\n\n", new Uint8Array(3)])
    socket.receive(data as string);
  socket.send(new Uint8Array(3) as unknown as string);
  expect(recorded()).toEqual(["opened"]);
});
