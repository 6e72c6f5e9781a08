import { afterEach, expect, test, vi } from "vitest";
import { createStreamTap } from "./stream-tap.ts";
import { createWires } from "./wires.ts";

afterEach(() => void vi.unstubAllGlobals());

/** A socket that never gets further than being asked for. */
class AskedSocket extends EventTarget {
  static asked: string[] = [];
  static closed = 0;
  readyState = 0;
  constructor(url: string) {
    super();
    AskedSocket.asked.push(url);
  }
  close(): void {
    AskedSocket.closed += 1;
  }
}

function open(mode: "sse" | "bidi") {
  vi.stubGlobal("location", { href: "http://page:3000/v6/?chat=c" });
  AskedSocket.asked = [];
  AskedSocket.closed = 0;
  const requests: string[] = [];
  const tap = createStreamTap({
    webSocket: AskedSocket as unknown as new (url: string) => WebSocket,
    fetch: async (input) => {
      if (typeof input === "string") requests.push(input);
      return new Response(null, { status: 204 });
    },
  });
  return { wires: createWires("c", { tap, mode }), requests };
}

const turnOfEvents = () => new Promise((resolve) => setTimeout(resolve));

test("SSE has no socket and asks over HTTP", async () => {
  const { wires, requests } = open("sse");
  wires.connect();
  await turnOfEvents();
  expect(wires.connection()).toBeUndefined();
  expect(AskedSocket.asked).toEqual([]);
  expect(await wires.reconnectToStream({ chatId: "c" })).toBeNull();
  expect(requests).toEqual(["/stream/c/stream"]);
});

test("BIDI connects to the server of the page, and closes when the mode is left", async () => {
  const { wires } = open("bidi");
  const seen: (string | undefined)[] = [];
  wires.subscribe(() => seen.push(wires.connection()?.status));
  wires.connect();
  await turnOfEvents();
  expect(AskedSocket.asked).toEqual(["ws://page:3000/live?sequence=1"]);
  expect(wires.connection()).toEqual({ status: "connecting" });
  wires.choose("sse");
  expect(wires.connection()).toBeUndefined();
  expect(AskedSocket.closed).toBe(1);
  expect(seen).toEqual(["connecting", undefined, undefined]);
});

test("choosing the mode again changes nothing, leaving the chat closes the socket", async () => {
  const { wires } = open("sse");
  let changes = 0;
  const stop = wires.subscribe(() => (changes += 1));
  wires.choose("sse");
  expect(changes).toBe(0);
  wires.choose("bidi");
  expect([changes, wires.mode(), wires.connection()]).toEqual([1, "bidi", { status: "idle" }]);
  wires.connect();
  await turnOfEvents();
  stop();
  wires.close();
  expect(AskedSocket.closed).toBe(1);
});
