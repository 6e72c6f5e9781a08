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
  // The other half of the body is read beside ours.
  await new Promise((resolve) => setTimeout(resolve));
  return text;
};

const story = 'id: 1\ndata: {"type":"start"}\n\nid: 2\ndata: {"type":"finish"}\n\ndata: [DONE]\n\n';

test("the chat reads the response untouched while the chunks are noted with their numbers", async () => {
  const tap = createStreamTap({ fetch: respondWith(story), now, schedule });
  expect(await read(tap)).toBe(story);
  expect(lines(tap)).toEqual(["request", "1 start", "2 finish", "done"]);
});

test("chunks of a replay that were noted before are not noted again", async () => {
  const replay = 'data: {"type":"start"}\n\nid: 1\ndata: {"type":"start"}\n\nid: 3\ndata: {"type":"text-start"}\n\n';
  const bodies = [story, replay];
  const tap = createStreamTap({ fetch: async (...call) => respondWith(bodies.shift() ?? "")(...call), now, schedule });
  await read(tap);
  await read(tap, "GET");
  expect(lines(tap)).toEqual(["request", "1 start", "2 finish", "done", "request", "3 text-start"]);
});

test("only the newest lines are kept", async () => {
  const tap = createStreamTap({ fetch: respondWith(story), limit: 2, now, schedule });
  await read(tap);
  expect(lines(tap)).toEqual(["2 finish", "done"]);
});

test("other responses and text that is no chunk pass by", async () => {
  const json = createStreamTap({ fetch: respondWith('{"error":{}}', "application/json"), now, schedule });
  expect(await read(json)).toBe('{"error":{}}');
  expect(lines(json)).toEqual([]);
  const broken = createStreamTap({ fetch: respondWith(": keep-alive\n\ndata: {oops\n\n"), now, schedule });
  await read(broken);
  expect(lines(broken)).toEqual(["request"]);
});

/** A socket whose other end the test holds. */
class HeldSocket extends EventTarget {
  static sent: string[] = [];
  send(data: string): void {
    HeldSocket.sent.push(data);
  }
  say(data: string): void {
    this.dispatchEvent(new MessageEvent("message", { data }));
  }
  end(code: number): void {
    this.dispatchEvent(Object.assign(new Event("close"), { code }));
  }
}

function openSocket() {
  const tap = createStreamTap({ webSocket: HeldSocket as unknown as new (url: string) => WebSocket, now, schedule });
  const heard: string[] = [];
  tap.onChunk((type) => heard.push(type));
  const connect = () => {
    const socket = new tap.webSocket("ws://page/live") as unknown as HeldSocket;
    socket.dispatchEvent(new Event("open"));
    return socket;
  };
  const words = () =>
    tap.entries().map((entry) => {
      if (entry.kind === "frame") return `> ${entry.type}`;
      if (entry.kind === "socket") return entry.event;
      return entry.kind === "chunk" ? `${entry.sequence ?? "-"} ${entry.type}` : entry.kind;
    });
  return { connect, words, heard };
}

test("a socket is noted in both directions, without its small talk", () => {
  const { connect, words, heard } = openSocket();
  const socket = connect();
  const user = [{ role: "user", parts: [] }];
  for (const frame of [
    { type: "ping", timestamp: 1 },
    { type: "message", messages: user },
    { type: "message", messages: [{ role: "assistant" }], messageId: "m" },
    { type: "message", messages: user, trigger: "regenerate-message", messageId: "m" },
    { type: "interrupt" },
  ])
    socket.send(JSON.stringify(frame));
  socket.say('{"type":"pong","timestamp":1}');
  socket.say('{"type":"accepted","requestId":"r","turn":"t"}');
  socket.say('{"type":"turn","turn":"t","reply":"m","sequence":1}');
  socket.say('id: 2\ndata: {"type":"start","messageId":"\u2028"}\n\n');
  socket.say('{"type":"parked","turn":"t","sequence":3}');
  socket.say('data: {"type":"tool-output-available"}\n\n');
  socket.say("data: [DONE]\n\n");
  expect(words()).toEqual([
    "opened",
    "> message",
    "> answer",
    "> regenerate",
    "> interrupt",
    "2 start",
    "parked",
    "- tool-output-available",
    "done",
  ]);
  expect(heard).toEqual(["start", "parked", "tool-output-available"]);
  expect(HeldSocket.sent).toHaveLength(5);
});

test("what a new socket says again is not noted again", () => {
  const { connect, words } = openSocket();
  const first = connect();
  first.say('{"type":"turn","turn":"t","reply":"m","sequence":1}');
  first.say('id: 2\ndata: {"type":"start"}\n\n');
  first.say('id: 3\ndata: {"type":"finish"}\n\n');
  first.say("data: [DONE]\n\n");
  first.end(1006);
  const second = connect();
  second.say('{"type":"attached","id":"c","sequence":4,"running":true}');
  second.say('{"type":"turn","turn":"t","reply":"m","sequence":1}');
  second.say('data: {"type":"start"}\n\n');
  second.say('id: 3\ndata: {"type":"finish"}\n\n');
  second.say("data: [DONE]\n\n");
  expect(words()).toEqual(["opened", "2 start", "3 finish", "done", "lost", "opened"]);
  second.say('{"type":"turn","turn":"aside","reply":"m","sequence":4}');
  second.say('data: {"type":"start"}\n\n');
  second.end(1000);
  expect(words().slice(6)).toEqual(["- start"]);
});

test("frames that are no text, no event and no JSON pass by", () => {
  const { connect, words } = openSocket();
  const socket = connect();
  for (const data of ["", "{", "{}", "data: {oops\n\n", ": keep-alive\n\n", new Uint8Array(3)])
    socket.say(data as string);
  socket.send(new Uint8Array(3) as unknown as string);
  expect(words()).toEqual(["opened"]);
});
