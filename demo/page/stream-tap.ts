import { decodeSse, type SseEvent } from "adk-stream-protocol/protocol";

/**
 * Records what the transports read and send, for the panel that shows the raw chunks. It changes nothing: a response's
 * body is split into two copies, one for the chat and one for the tap, and a WebSocket gets additional listeners.
 */
export type TapEntry = { key: number; at: number } & (
  | { kind: "request"; method: string; path: string; body?: unknown }
  /** A frame that the page sent. The type `regenerate` is a `message` frame that asks for another reply. */
  | { kind: "frame"; type: string; body?: unknown }
  | { kind: "socket"; event: "opened" | "lost" }
  | { kind: "chunk"; sequence: number | undefined; type: string; chunk: Record<string, unknown> }
  /** The reply waits for an answer; the WebSocket stays open. */
  | { kind: "parked" }
  | { kind: "done" }
  /** From the server's log: a turn begins, or a reply was withdrawn. */
  | { kind: "begin"; sequence: number; turn: string; message?: unknown }
  | { kind: "withdraw"; sequence: number }
);

type NewEntry = TapEntry extends infer E ? (E extends TapEntry ? Omit<E, "key" | "at"> : never) : never;

export interface StreamTap {
  fetch: typeof fetch;
  /** A WebSocket class that records its frames. */
  webSocket: new (url: string) => WebSocket;
  entries(): readonly TapEntry[];
  subscribe(listener: () => void): () => void;
  /** Called for every chunk when it arrives for the first time. */
  onChunk(listener: (type: string) => void): () => void;
}

export interface TapOptions {
  fetch?: typeof fetch;
  webSocket?: new (url: string) => WebSocket;
  limit?: number;
  now?: () => number;
  /** Delays a redraw, so that many chunks at once cause only one. */
  schedule?: (draw: () => void) => void;
}

export function createStreamTap(options: TapOptions = {}): StreamTap {
  const { limit = 500, now = Date.now, schedule = (draw) => setTimeout(draw, 30) } = options;
  const listeners = new Set<() => void>();
  const chunkListeners = new Set<(type: string) => void>();
  let entries: readonly TapEntry[] = [];
  let waiting: TapEntry[] = [];
  let nextKey = 0;
  // A resumed stream repeats chunks that the panel already shows. This is the last one of them.
  let seen = { sequence: 0, data: "" };
  // A repeated `[DONE]` is not shown again.
  let isOpen = false;

  const add = (entry: NewEntry) => {
    waiting.push({ ...entry, key: nextKey++, at: now() });
    if (waiting.length > 1) return;
    schedule(() => {
      entries = [...entries, ...waiting].slice(-limit);
      waiting = [];
      for (const listener of listeners) listener();
    });
  };

  const note = (event: SseEvent, isReplay: boolean) => {
    if (event.data === "[DONE]") {
      if (isOpen) add({ kind: "done" });
      isOpen = false;
      return;
    }
    const chunk = parseObject(event.data);
    if (!chunk) return;
    const type = String(chunk["type"]);
    const sequence = event.id === undefined ? undefined : Number(event.id);
    if (sequence === undefined) {
      if (isReplay && seen.sequence > 0) return;
    } else {
      if (sequence < seen.sequence || (sequence === seen.sequence && event.data === seen.data)) return;
      seen = { sequence, data: event.data };
    }
    isOpen = true;
    for (const listener of chunkListeners) listener(type);
    add({ kind: "chunk", sequence, type, chunk });
  };

  const listen = async (body: ReadableStream<Uint8Array>, isReplay: boolean) => {
    for await (const event of decodeSse(body)) note(event, isReplay);
  };

  const Socket: new (url: string) => WebSocket = options.webSocket ?? globalThis.WebSocket;
  class TappedSocket extends Socket {
    constructor(url: string) {
      super(url);
      let opened = false;
      // If a turn was already running, the first turn after `attached` is replayed from its beginning.
      let replay: "none" | "next" | "now" = "none";
      this.addEventListener("open", () => {
        opened = true;
        add({ kind: "socket", event: "opened" });
      });
      this.addEventListener("close", ({ code }) => {
        // The page itself closes with 1000.
        if (opened && code !== 1000) add({ kind: "socket", event: "lost" });
      });
      this.addEventListener("message", ({ data }: MessageEvent) => {
        if (typeof data !== "string") return;
        if (!data.startsWith("{")) {
          note(readEvent(data), replay === "now");
          return;
        }
        const { type, running } = parseObject(data) ?? {};
        if (type === "attached") replay = running === true ? "next" : "none";
        if (type === "turn") replay = replay === "next" ? "now" : "none";
        if (type === "parked") {
          add({ kind: "parked" });
          for (const listener of chunkListeners) listener("parked");
        }
      });
    }

    override send(data: Parameters<WebSocket["send"]>[0]): void {
      super.send(data);
      const type = typeof data === "string" ? frameType(parseObject(data)) : undefined;
      if (type !== undefined && type !== "ping") add({ kind: "frame", type, ...bodyOf(data) });
    }
  }

  return {
    fetch: async (input, init) => {
      const response = await (options.fetch ?? globalThis.fetch)(input, init);
      const isStream = response.headers.get("content-type")?.includes("text/event-stream");
      if (!response.ok || !response.body || !isStream) return response;
      const path = new URL(input instanceof Request ? input.url : String(input), "http://page").pathname;
      const method = init?.method ?? "GET";
      add({ kind: "request", method, path, ...bodyOf(init?.body) });
      const [mine, theirs] = response.body.tee();
      // The chat reports a lost connection, so the tap does not.
      listen(mine, method === "GET").catch(() => undefined);
      return new Response(theirs, { status: response.status, headers: response.headers });
    },
    webSocket: TappedSocket,
    entries: () => entries,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    onChunk(listener) {
      chunkListeners.add(listener);
      return () => void chunkListeners.delete(listener);
    },
  };
}

/** Longer bodies are not kept: stock clients send their whole history with each request. */
const maxBodyLength = 20_000;

function bodyOf(body: unknown): { body?: unknown } {
  if (typeof body !== "string") return {};
  if (body.length > maxBodyLength) return { body: `${body.slice(0, maxBodyLength)}… (${body.length} characters)` };
  return { body: parseObject(body) ?? body };
}

/** Each frame is one whole event (see PROTOCOL.md), so it only has to be split into its lines. */
function readEvent(text: string): SseEvent {
  const value = (field: string) => new RegExp(`^${field}: ?([^\\r\\n]*)`, "m").exec(text)?.[1];
  const id = value("id");
  return { data: value("data") ?? "", ...(id === undefined ? {} : { id }) };
}

function frameType(frame: Record<string, unknown> | undefined): string | undefined {
  if (frame?.["type"] !== "message") return frame && String(frame["type"]);
  return frame["trigger"] === "regenerate-message" ? "regenerate" : "message";
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
