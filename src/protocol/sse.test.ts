import * as sdk from "ai";
import * as sdk6 from "ai-v6";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeSse, encodeSseEvent, parseSseEvent, sseComment, sseDone, type SseEvent } from "./sse.ts";

describe("encodeSseEvent", () => {
  test("writes one line of JSON, and the id before it when there is one", () => {
    expect(encodeSseEvent({ type: "start" })).toBe('data: {"type":"start"}\n\n');
    expect(encodeSseEvent({ type: "start" }, 7)).toBe('id: 7\ndata: {"type":"start"}\n\n');
    expect(encodeSseEvent(null, 0)).toBe("id: 0\ndata: null\n\n");
  });

  test("lets nothing in a chunk end the line (A34)", () => {
    const breaks = fc.constantFrom("\r", "\n", "\r\n", "\n\ndata: [DONE]\n\n", "\nid: 9\n", "\u2028", "\u2029", "\0");
    const text = fc
      .array(fc.oneof(breaks, fc.string({ unit: "binary" })), { maxLength: 5 })
      .map((pieces) => pieces.join(""));
    fc.assert(
      fc.property(fc.dictionary(text, fc.oneof(text, fc.array(text, { maxLength: 3 })), { maxKeys: 3 }), (chunk) => {
        const encoded = encodeSseEvent(chunk, 1);
        expect(encoded.match(/[\r\n]/g)).toHaveLength(3);
        expect(encoded.startsWith("id: 1\ndata: {")).toBe(true);
        expect(encoded.endsWith("}\n\n")).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });

  test("refuses what is not JSON, and an id that is not a sequence number", () => {
    expect(() => encodeSseEvent(undefined)).toThrow("got undefined");
    expect(() => encodeSseEvent(() => 1)).toThrow("got function");
    for (const id of [-1, 0.5, Number.NaN, 2 ** 53, "1\ndata: x" as unknown as number]) {
      expect(() => encodeSseEvent({}, id)).toThrow("sequence number");
    }
  });
});

describe("sseComment", () => {
  test("is one line that readers ignore", async () => {
    expect(sseComment("keep-alive")).toBe(": keep-alive\n\n");
    expect(sseComment("a\r\ndata: b\n\rc")).toBe(": adata: bc\n\n");
    expect(await decode(sseComment("a\ndata: b"))).toEqual([]);
  });
});

describe("parseSseEvent", () => {
  test("gives back what was encoded, whatever ends its lines", () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: "binary" }), fc.constantFrom("\n", "\r", "\r\n"), (value, lineEnd) => {
        const text = encodeSseEvent(value, 3).replaceAll("\n", lineEnd);
        expect(parseSseEvent(text)).toEqual({ data: JSON.stringify(value), id: "3" });
      }),
    );
    expect(parseSseEvent(encodeSseEvent({}))).toEqual({ data: "{}" });
    expect(parseSseEvent(sseDone)).toEqual({ data: "[DONE]" });
  });

  test("takes the end of the text for the end of the event", () => {
    for (const end of ["", "\n", "\r", "\r\n"]) expect(parseSseEvent(`data: a${end}`)).toEqual({ data: "a" });
  });

  test("is undefined where there is no data", () => {
    for (const text of ["", "\n\n", sseComment("beat"), "id: 4\nevent: e\n\n"])
      expect(parseSseEvent(text)).toBeUndefined();
  });
});

describe("decodeSse", () => {
  const stories: [string, string, SseEvent[]][] = [
    ["events in order", "data: a\n\ndata: b\n\n", [{ data: "a" }, { data: "b" }]],
    ["several lines of data", "data: a\ndata:\ndata: b\n\n", [{ data: "a\n\nb" }]],
    ["lines ended by CR", "data: a\rdata: b\r\rdata: c\r\r", [{ data: "a\nb" }, { data: "c" }]],
    ["lines ended by CRLF", "data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", [{ data: "a\nb" }, { data: "c" }]],
    ["all three mixed", "data: a\r\ndata: b\rdata: c\n\r\ndata: d\r\n\n", [{ data: "a\nb\nc" }, { data: "d" }]],
    ["a byte order mark", "\ufeffdata: a\n\n", [{ data: "a" }]],
    ["only the first space after the colon dropped", "data:  a\n\ndata:b\n\n", [{ data: " a" }, { data: "b" }]],
    ["colons in the data", "data: a: b:c\n\n", [{ data: "a: b:c" }]],
    ["an empty data line", "data\n\ndata:\n\n", [{ data: "" }, { data: "" }]],
    ["comments and other fields ignored", ": x\nevent: e\nretry: 1\nfoo: bar\nDATA: no\n data: no\n\n", []],
    [
      "the id that stays until the next",
      "id: 1\ndata: a\n\ndata: b\n\nid: 2\ndata: c\n\n",
      [
        { data: "a", id: "1" },
        { data: "b", id: "1" },
        { data: "c", id: "2" },
      ],
    ],
    ["an id taken back", "id: 1\ndata: a\n\nid\ndata: b\n\n", [{ data: "a", id: "1" }, { data: "b" }]],
    ["an id with a null ignored", "id: 1\n\nid: 2\0\ndata: a\n\n", [{ data: "a", id: "1" }]],
    ["an event cut off by the end", "data: a\n\ndata: b\n", [{ data: "a" }]],
    [
      "separators that are not line ends",
      "data: a\u2028\u2029\u0085\u000b\u000cb\n\n",
      [{ data: "a\u2028\u2029\u0085\u000b\u000cb" }],
    ],
  ];

  test.each(stories)("reads %s", async (_name, text, events) => {
    expect(await decode(text)).toEqual(events);
  });

  test.each(stories)("reads %s, cut after every byte and at every single place", async (_name, text, events) => {
    const bytes = new TextEncoder().encode(text);
    expect(await collect(streamOf([...bytes].map((byte) => Uint8Array.of(byte))))).toEqual(events);
    for (let at = 0; at <= bytes.length; at++) {
      expect(await collect(streamOf([bytes.slice(0, at), new Uint8Array(), bytes.slice(at)]))).toEqual(events);
    }
  });

  test("gives back what was encoded, for any chunks, line ends and cuts", async () => {
    const chunks = fc.array(fc.jsonValue({ stringUnit: "binary", maxDepth: 2 }), { maxLength: 5 });
    const cuts = fc.array(fc.nat({ max: 2_000 }), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(chunks, fc.constantFrom("\n", "\r", "\r\n"), cuts, async (values, lineEnd, places) => {
        const text = values.map((value, index) => sseComment("beat") + encodeSseEvent(value, index)).join("") + sseDone;
        const events = await collect(streamOf(cut(text.replaceAll("\n", lineEnd), places)));
        const last = values.length === 0 ? {} : { id: String(values.length - 1) };
        expect(events).toEqual([
          ...values.map((value, index) => ({ data: JSON.stringify(value), id: String(index) })),
          { data: "[DONE]", ...last },
        ]);
      }),
      { numRuns: 500 },
    );
  });

  // With one byte per read, looking at what is buffered again each time would be some 10^11 steps.
  test("takes a long line in tiny pieces in linear time", async () => {
    const text = "x".repeat(512 * 1024);
    const bytes = new TextEncoder().encode(`data: ${text}\n\n`);
    let at = 0;
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (at < bytes.length) controller.enqueue(bytes.subarray(at, ++at));
        else controller.close();
      },
    });
    const [event] = await collect(stream);
    expect(event?.data === text).toBe(true);
  });

  test("cancels the stream when its reader leaves early", async () => {
    let cancelled = false;
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode("data: a\n\ndata: b\n\n")),
      cancel: () => {
        cancelled = true;
      },
    });
    for await (const event of decodeSse(stream)) {
      expect(event.data).toBe("a");
      break;
    }
    expect(cancelled).toBe(true);
    expect(stream.locked).toBe(false);
  });

  test("lets its reader leave a stream that cannot be cancelled", async () => {
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode("data: a\n\n")),
      cancel: () => Promise.reject(new Error("stuck")),
    });
    const events = decodeSse(stream);
    expect(await events.next()).toEqual({ done: false, value: { data: "a" } });
    expect(await events.return()).toEqual({ done: true, value: undefined });
  });

  test("throws what the stream failed with", async () => {
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => controller.error(new TypeError("network")),
    });
    await expect(collect(stream)).rejects.toThrow("network");
  });
});

test.each([
  ["ai 6", sdk6 as unknown as typeof sdk],
  ["ai 7", sdk],
])("%s reads what we write", async (_name, { parseJsonEventStream, uiMessageChunkSchema }) => {
  const chunks = [
    { type: "start", messageId: "m1" },
    { type: "text-delta", id: "t", delta: "a\r\n\u2028\n\nb" },
  ];
  const text = sseComment("open") + chunks.map((chunk, index) => encodeSseEvent(chunk, index + 1)).join("") + sseDone;
  const read = parseJsonEventStream({ stream: streamOf(cut(text, [3, 40, 41])), schema: uiMessageChunkSchema });
  const values: unknown[] = [];
  for await (const result of read) values.push(result.success ? result.value : result.error);
  expect(values).toEqual(chunks);
});

function streamOf(pieces: readonly Uint8Array<ArrayBuffer>[]): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
}

/** The bytes of a text, cut at these places, also in the middle of a character. */
function cut(text: string, places: readonly number[]): Uint8Array<ArrayBuffer>[] {
  const bytes = new TextEncoder().encode(text);
  const ends = [...places.map((place) => Math.min(place, bytes.length)), bytes.length].toSorted((a, b) => a - b);
  return ends.map((end, index) => bytes.slice(ends[index - 1] ?? 0, end));
}

async function collect(stream: ReadableStream<Uint8Array>): Promise<SseEvent[]> {
  const events: SseEvent[] = [];
  for await (const event of decodeSse(stream)) events.push(event);
  return events;
}

function decode(text: string): Promise<SseEvent[]> {
  return collect(streamOf([new TextEncoder().encode(text)]));
}
