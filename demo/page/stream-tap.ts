import { decodeSse } from "adk-stream-protocol/protocol";

/**
 * Listens to the responses the transport reads, without touching them: the body is split, one half goes to the chat, the
 * other is parsed here for the panel that shows the raw chunks.
 */
export type TapEntry = { key: number; at: number } & (
  | { kind: "request"; method: string; path: string }
  | { kind: "chunk"; sequence: number | undefined; type: string; chunk: Record<string, unknown> }
  | { kind: "done" }
);

type NewEntry = TapEntry extends infer E ? (E extends TapEntry ? Omit<E, "key" | "at"> : never) : never;

export interface StreamTap {
  fetch: typeof fetch;
  entries(): readonly TapEntry[];
  subscribe(listener: () => void): () => void;
  /** Called for every chunk as it arrives. */
  onChunk(listener: (type: string) => void): () => void;
}

export interface TapOptions {
  fetch?: typeof fetch;
  limit?: number;
  now?: () => number;
  /** Groups redraws; a burst of chunks is one. */
  schedule?: (draw: () => void) => void;
}

export function createStreamTap(options: TapOptions = {}): StreamTap {
  const { limit = 500, now = Date.now, schedule = (draw) => setTimeout(draw, 30) } = options;
  const listeners = new Set<() => void>();
  const chunkListeners = new Set<(type: string) => void>();
  let entries: readonly TapEntry[] = [];
  let waiting: TapEntry[] = [];
  let nextKey = 0;
  // A resumed stream repeats what was shown already; those lines would only be noise.
  let seen = { sequence: 0, data: "" };

  const add = (entry: NewEntry) => {
    waiting.push({ ...entry, key: nextKey++, at: now() });
    if (waiting.length > 1) return;
    schedule(() => {
      entries = [...entries, ...waiting].slice(-limit);
      waiting = [];
      for (const listener of listeners) listener();
    });
  };

  const listen = async (body: ReadableStream<Uint8Array>, isReplay: boolean) => {
    for await (const event of decodeSse(body)) {
      if (event.data === "[DONE]") {
        add({ kind: "done" });
        continue;
      }
      const chunk = parseChunk(event.data);
      if (!chunk) continue;
      const type = String(chunk["type"]);
      for (const listener of chunkListeners) listener(type);
      const sequence = event.id === undefined ? undefined : Number(event.id);
      if (sequence === undefined) {
        if (isReplay && seen.sequence > 0) continue;
      } else {
        if (sequence < seen.sequence || (sequence === seen.sequence && event.data === seen.data)) continue;
        seen = { sequence, data: event.data };
      }
      add({ kind: "chunk", sequence, type, chunk });
    }
  };

  return {
    fetch: async (input, init) => {
      const response = await (options.fetch ?? globalThis.fetch)(input, init);
      const isStream = response.headers.get("content-type")?.includes("text/event-stream");
      if (!response.ok || !response.body || !isStream) return response;
      const path = new URL(input instanceof Request ? input.url : String(input), "http://page").pathname;
      const method = init?.method ?? "GET";
      add({ kind: "request", method, path });
      const [mine, theirs] = response.body.tee();
      // A cut connection is the chat's to report.
      listen(mine, method === "GET").catch(() => undefined);
      return new Response(theirs, { status: response.status, headers: response.headers });
    },
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

function parseChunk(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
