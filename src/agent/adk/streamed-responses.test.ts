import { Gemini, LlmAgent } from "@google/adk";
import { GoogleGenAI } from "@google/genai";
import fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";
import { prepareStreams, streamedResponses } from "./streamed-responses.ts";

type Reader = typeof streamedResponses;

const client = new GoogleGenAI({ apiKey: "none" }).models["apiClient"] as unknown as { processStreamResponse: Reader };
const theirs: Reader = (response) => client.processStreamResponse(response);

/** What a reader yields and how it ends, as text. */
async function readAll(read: Reader, pieces: readonly Uint8Array[]): Promise<string[]> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
  const seen: string[] = [];
  try {
    for await (const { headers, json } of bound(read(new Response(body, { headers: { "x-test": "yes" } })))) {
      const value = await json().catch((error: unknown) => String(error));
      seen.push(JSON.stringify([headers["x-test"], value]));
    }
    seen.push("end");
  } catch (error) {
    seen.push(`${String(error)} ${JSON.stringify(error)}`);
  }
  return seen;
}

/** The client's class reads `this` in `json`. */
async function* bound(source: ReturnType<Reader>): ReturnType<Reader> {
  for await (const each of source) yield { headers: each.headers, json: () => each.json() };
}

const event = fc.oneof(
  fc.json().map((json) => `data: ${json}`),
  fc.json({ noUnicodeString: false }).map((json) => `data:${json}  `),
  fc.constantFrom(
    'data: {"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}',
    '{"error":{"code":500,"message":"a body of its own"}}',
    '  {"error":{"code":200}}',
    'data: {"error":"text"}',
    'data: {"error":null}',
    "data: {not json",
    "data: ",
    "data: \u00a0{}\u00a0",
    "data: [1]\ndata: [2]",
    ": a comment",
    "event: x\ndata: {}",
    "",
  ),
);
const stream = fc.array(fc.tuple(event, fc.constantFrom("\n\n", "\r\r", "\r\n\r\n", "\n\r\n")), { maxLength: 8 });

test("reads any stream, cut anywhere, as the genai client does", async () => {
  await fc.assert(
    fc.asyncProperty(stream, fc.array(fc.nat(200), { maxLength: 12 }), async (events, cuts) => {
      const bytes = new TextEncoder().encode(events.flat().join(""));
      const places = [...new Set(cuts.map((cut) => Math.min(cut, bytes.length)))].toSorted((a, b) => a - b);
      const pieces = [0, ...places].map((start, index) => bytes.slice(start, places[index] ?? bytes.length));
      expect(await readAll(streamedResponses, pieces)).toEqual(await readAll(theirs, pieces));
    }),
    { numRuns: 300 },
  );
});

test("a response without a body is an error", async () => {
  await expect(streamedResponses(new Response(null)).next()).rejects.toThrow("Response body is empty");
});

test("K34: the genai client reads its streams by `processStreamResponse`", () => {
  const model = new Gemini({ model: "gemini-2.5-flash", apiKey: "none", vertexai: false });
  const reader = model.apiClient.models["apiClient"] as unknown as { processStreamResponse: unknown };
  expect(reader.processStreamResponse).toBeTypeOf("function");
  prepareStreams(new LlmAgent({ name: "agent", model }));
  expect(reader.processStreamResponse).toBe(streamedResponses);
});

test("agents without a model of their own share the instance of the agent that names it", () => {
  vi.stubEnv("GEMINI_API_KEY", "none");
  onTestFinished(() => void vi.unstubAllEnvs());
  const child = new LlmAgent({ name: "child" });
  const root = new LlmAgent({ name: "root_agent", model: "gemini-2.5-flash", subAgents: [child] });
  prepareStreams(child);
  expect(child.canonicalModel).toBe(child.canonicalModel);
  expect(root.canonicalModel).toBe(child.canonicalModel);
});
