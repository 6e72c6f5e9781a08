import { afterEach, expect, test, vi } from "vitest";
import { createStreamTap } from "./stream-tap.ts";
import { createWires } from "./wires.ts";

afterEach(() => void vi.unstubAllGlobals());

/** A WebSocket that never opens. */
class UnopenedSocket extends EventTarget {
  static urls: string[] = [];
  static closed = 0;
  readyState = 0;
  constructor(url: string) {
    super();
    UnopenedSocket.urls.push(url);
  }
  close(): void {
    UnopenedSocket.closed += 1;
  }
}

function open(mode: "sse" | "bidi") {
  vi.stubGlobal("location", { href: "http://page:3000/v6/?chat=c" });
  UnopenedSocket.urls = [];
  UnopenedSocket.closed = 0;
  const requests: string[] = [];
  const tap = createStreamTap({
    webSocket: UnopenedSocket as unknown as new (url: string) => WebSocket,
    fetch: async (input) => {
      if (typeof input === "string") requests.push(input);
      return new Response(null, { status: 204 });
    },
  });
  return { wires: createWires("c", { tap, mode }), requests };
}

const nextTask = () => new Promise((resolve) => setTimeout(resolve));

test("SSE opens no WebSocket and uses HTTP", async () => {
  const { wires, requests } = open("sse");
  wires.connect();
  await nextTask();
  expect(wires.connection()).toBeUndefined();
  expect(UnopenedSocket.urls).toEqual([]);
  expect(await wires.reconnectToStream({ chatId: "c" })).toBeNull();
  expect(requests).toEqual(["/stream/c/stream"]);
});

test("BIDI connects to the page's server, and closes when the mode changes", async () => {
  const { wires } = open("bidi");
  const seen: (string | undefined)[] = [];
  wires.subscribe(() => seen.push(wires.connection()?.status));
  wires.connect();
  // The code of the WebSocket is loaded first.
  await expect.poll(() => UnopenedSocket.urls).toEqual(["ws://page:3000/live?sequence=1"]);
  expect(wires.connection()).toEqual({ status: "connecting" });
  wires.choose("sse");
  expect(wires.connection()).toBeUndefined();
  expect(UnopenedSocket.closed).toBe(1);
  expect(seen.filter((status, index) => status !== seen[index - 1])).toEqual(["connecting", undefined]);
});

test("leaving BIDI before the code of the WebSocket is here opens no WebSocket", async () => {
  const { wires } = open("bidi");
  wires.connect();
  wires.choose("sse");
  wires.choose("bidi");
  wires.connect();
  await expect.poll(() => UnopenedSocket.urls).toHaveLength(1);
  await nextTask();
  expect([UnopenedSocket.urls.length, UnopenedSocket.closed]).toEqual([1, 0]);
});

test("choosing the same mode changes nothing, and leaving the chat closes the WebSocket", async () => {
  const { wires } = open("sse");
  let changes = 0;
  const stop = wires.subscribe(() => (changes += 1));
  wires.choose("sse");
  expect(changes).toBe(0);
  wires.choose("bidi");
  expect([changes, wires.mode(), wires.connection()]).toEqual([1, "bidi", { status: "idle" }]);
  wires.connect();
  await expect.poll(() => UnopenedSocket.urls).toHaveLength(1);
  stop();
  wires.close();
  expect(UnopenedSocket.closed).toBe(1);
});
