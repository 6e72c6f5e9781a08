import { BridgeError } from "./errors.ts";

/** One server-sent event as a reader sees it. `id` is the last one the stream named, as Last-Event-ID would be. */
export interface SseEvent {
  data: string;
  id?: string;
}

/** The last event of every stream. AI SDK skips it; other readers need it to tell a finished stream from a cut one. */
export const sseDone = "data: [DONE]\n\n";

/**
 * One chunk as one event. JSON text never holds a raw CR or LF (inside strings they are escaped, outside there is no
 * white space), so nothing in a chunk can end the line and begin a field of its own.
 */
export function encodeSseEvent(json: unknown, id?: number): string {
  const line = JSON.stringify(json) as string | undefined;
  if (line === undefined) throw new BridgeError("internal", `An event must be JSON; got ${typeof json}.`);
  if (id === undefined) return `data: ${line}\n\n`;
  if (!Number.isSafeInteger(id) || id < 0)
    throw new BridgeError("internal", `An event id must be a sequence number; got ${id}.`);
  return `id: ${id}\ndata: ${line}\n\n`;
}

/** A line that readers ignore; it keeps an idle connection open. */
export function sseComment(text: string): string {
  return `: ${text.replaceAll(/[\r\n]/g, "")}\n\n`;
}

/** Reads a text that is one whole event, as a WebSocket frame carries it; undefined when it has no data. */
export function parseSseEvent(text: string): SseEvent | undefined {
  const [event] = eventReader()(`${text}\n\n`);
  return event;
}

/**
 * Reads events from bytes by the rules of the HTML standard, however the network split them. An incomplete event at the
 * end of the stream is dropped, as the standard says. Leaving the loop early cancels the stream; `until` ends the loop, too,
 * when it resolves. `onRead` is called when bytes have come, also those of a comment.
 */
export async function* decodeSse(
  stream: ReadableStream<Uint8Array>,
  { until, onRead }: { until?: Promise<void>; onRead?: () => void } = {},
): AsyncGenerator<SseEvent, void, void> {
  const reader = stream.getReader();
  const cancel = () => reader.cancel().catch(() => undefined);
  void until?.then(cancel);
  const decoder = new TextDecoder();
  const readEvents = eventReader();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      onRead?.();
      yield* readEvents(decoder.decode(read.value, { stream: true }));
    }
  } finally {
    // An error of the stream itself has been thrown already; an error while cancelling does not matter to the reader.
    await cancel();
    reader.releaseLock();
  }
}

/** Takes a text in pieces, and yields the events that each piece completes. Scans a piece once, so tiny ones cost no more. */
function eventReader(): (piece: string) => Generator<SseEvent, void, void> {
  let rest = "";
  let afterReturn = false;
  /** The lines of data, each with its end. */
  let data = "";
  let id = "";
  return function* read(piece) {
    if (!piece) return;
    const text = afterReturn ? piece.replace(/^\n/, "") : piece;
    afterReturn = text.endsWith("\r");
    const lines = text.split(/\r\n?|\n/);
    lines[0] = rest + lines[0];
    rest = lines.pop()!;
    for (const line of lines) {
      const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(line) as unknown as [string, string, string];
      if (field === "data") data += `${value}\n`;
      else if (field === "id" && !value.includes("\0")) id = value;
      else if (!line && data) {
        yield { data: data.slice(0, -1), ...(id && { id }) };
        data = "";
      }
    }
  };
}
