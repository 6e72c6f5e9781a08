import {
  FunctionTool,
  InMemorySessionService,
  LlmAgent,
  LogLevel,
  Runner,
  setLogLevel,
  StreamingMode,
  type Event,
} from "@google/adk";
import type { Part } from "@google/genai";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { geminiAt } from "./gemini-at.ts";
import {
  blocked,
  call,
  citation,
  code,
  codeResult,
  drop,
  fail,
  file,
  finish,
  gate,
  grounding,
  inlineData,
  part,
  pause,
  text,
  thought,
  usage,
  type Piece,
} from "./script.ts";
import { startScriptedGemini, type ScriptedGemini } from "./scripted-gemini.ts";

setLogLevel(LogLevel.ERROR);

let gemini: ScriptedGemini;
beforeAll(async () => {
  gemini = await startScriptedGemini({ rules: [] });
});
beforeEach(() => gemini.reset([]));
afterAll(() => gemini.close());

const getWeather = new FunctionTool({
  name: "get_weather",
  description: "The weather of a place.",
  parameters: z.object({ location: z.string() }),
  execute: ({ location }) => ({ location, condition: "sunny", temperature: 21 }),
});

interface RunOptions {
  agent?: LlmAgent;
  streaming?: boolean;
  abortSignal?: AbortSignal;
  onEvent?: (event: Event) => void;
}

function createAgent(): LlmAgent {
  const model = geminiAt({ model: "gemini-2.5-flash", url: gemini.url });
  return new LlmAgent({ name: "assistant", model, instruction: "Be kind.", tools: [getWeather] });
}

/** The real runner, the real agent and the real Gemini class, on a fresh session. */
async function run(said: string | Part[], options: RunOptions = {}): Promise<Event[]> {
  const { agent = createAgent(), streaming = true, abortSignal, onEvent } = options;
  const sessionService = new InMemorySessionService();
  const runner = new Runner({ appName: "test", agent, sessionService });
  const session = await sessionService.createSession({ appName: "test", userId: "someone" });
  const events: Event[] = [];
  for await (const event of runner.runAsync({
    userId: "someone",
    sessionId: session.id,
    newMessage: { role: "user", parts: typeof said === "string" ? [{ text: said }] : said },
    runConfig: { streamingMode: streaming ? StreamingMode.SSE : StreamingMode.NONE },
    ...(abortSignal && { abortSignal }),
  })) {
    events.push(event);
    onEvent?.(event);
  }
  return events;
}

const says = (...pieces: Piece[]) => gemini.reset([{ say: pieces }]);
const partsOf = (events: Event[]) => events.flatMap((event) => event.content?.parts ?? []);
const deltas = (events: Event[]) =>
  events.flatMap((event) => (event.partial === true ? (event.content?.parts ?? []) : [])).map(({ text: said }) => said);

describe("ADK's Gemini gets from the scripted one", () => {
  it("text, word by word, and then whole", async () => {
    says(text("Hello there, friend."));
    const events = await run("hi");
    expect(deltas(events)).toEqual(["Hello ", "there, ", "friend."]);
    expect(events.at(-1)).toMatchObject({
      partial: false,
      finishReason: "STOP",
      content: { role: "model", parts: [{ text: "Hello there, friend." }] },
    });
  });

  it("text in one event without streaming", async () => {
    says(thought("Hm. "), thought("Well."), text("Hello "), text("there."));
    const events = await run("hi", { streaming: false });
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({
      finishReason: "STOP",
      content: { parts: [{ text: "Hm. Well.", thought: true }, { text: "Hello there." }] },
    });
    expect(gemini.requests[0]?.stream).toBe(false);
  });

  it("thoughts, counted apart", async () => {
    says(thought("Let me think."), text("Done."));
    const events = await run("hi");
    const thoughts = events.filter((event) => event.content?.parts?.some((said) => said.thought === true));
    expect(deltas(thoughts)).toEqual(["Let ", "me ", "think."]);
    const counts = events.at(-1)?.usageMetadata;
    expect(counts?.thoughtsTokenCount).toBe(4);
    expect(counts?.candidatesTokenCount).toBe(2);
    expect(counts?.totalTokenCount).toBe(6 + (counts?.promptTokenCount ?? Number.NaN));
  });

  it("no thought count without a thought, and the token counts of the script if it has some", async () => {
    says(text("Done."), usage({ promptTokenCount: 7, cachedContentTokenCount: 3, totalTokenCount: 12 }));
    const counts = (await run("hi")).at(-1)?.usageMetadata;
    expect(counts).toEqual({
      promptTokenCount: 7,
      candidatesTokenCount: 2,
      totalTokenCount: 12,
      cachedContentTokenCount: 3,
    });
  });

  it("a call, and continues with its result", async () => {
    gemini.reset([
      { when: /weather/i, say: [text("Let me look."), call("get_weather", { location: "Tokyo" })] },
      {
        when: ({ responses }) => responses.length > 0,
        say: ({ responses: [first] }) => [text(`It is ${String(first?.response["condition"])}.`)],
      },
    ]);
    const events = await run("The weather?");
    expect(partsOf(events).find(({ functionCall }) => functionCall)?.functionCall).toMatchObject({
      name: "get_weather",
      args: { location: "Tokyo" },
    });
    expect(partsOf(events).at(-1)).toEqual({ text: "It is sunny." });
    expect(gemini.requests).toHaveLength(2);
    expect(gemini.requests[1]).toMatchObject({
      text: "The weather?",
      fresh: false,
      responses: [{ name: "get_weather", args: { location: "Tokyo" }, response: { condition: "sunny" } }],
      pairingErrors: [],
    });
  });

  it("parallel calls in one event, with the ids of the script", async () => {
    const places = [call("get_weather", { location: "A" }, { id: "one" }), call("get_weather", { location: "B" })];
    gemini.reset([{ when: /weather/, say: places }, { say: [text("Both sunny.")] }]);
    const events = await run("weather");
    const called = events.filter((event) => event.content?.parts?.some(({ functionCall }) => functionCall));
    expect(called).toHaveLength(1);
    expect(called[0]?.content?.parts?.map(({ functionCall }) => functionCall?.args)).toEqual([
      { location: "A" },
      { location: "B" },
    ]);
    expect(called[0]?.content?.parts?.[0]?.functionCall?.id).toBe("one");
    expect(gemini.requests[1]?.responses.map(({ args }) => args["location"])).toEqual(["A", "B"]);
  });

  it.each([429, 500, 503])("an API error %i as an error event", async (status) => {
    says(fail(status, "Not now."));
    const [event, ...rest] = await run("hi");
    expect(rest).toEqual([]);
    expect(event?.errorCode).toBe(String(status));
    expect(event?.errorMessage).toContain("Not now.");
  });

  it("the error's own shape", async () => {
    says(fail(429, "Quota."));
    const response = await post("/v1beta/models/gemini-2.5-flash:generateContent");
    expect(response.status).toBe(429);
    expect(await response.json()).toEqual({ error: { code: 429, message: "Quota.", status: "RESOURCE_EXHAUSTED" } });
  });

  it("an API error in the middle of a stream", async () => {
    says(text("Starting "), fail(500, "Broke."));
    const events = await run("hi");
    expect(deltas(events)).toEqual(["Starting "]);
    // The client puts words before the body, so ADK finds no code in it.
    expect(events.at(-1)?.errorCode).toBe("UNKNOWN_ERROR");
    expect(events.at(-1)?.errorMessage).toContain('{"error":{"code":500,"message":"Broke.","status":"INTERNAL"}}');
  });

  it("a blocked prompt", async () => {
    says(blocked("PROHIBITED_CONTENT", "Not that."));
    const [event] = await run("hi", { streaming: false });
    expect(event).toMatchObject({ errorCode: "PROHIBITED_CONTENT", errorMessage: "Not that." });
    // Streaming, ADK keeps nothing of it but the token counts.
    const events = await run("hi");
    expect(partsOf(events)).toEqual([]);
    expect(events).toHaveLength(1);
  });

  it.each(["SAFETY", "MAX_TOKENS", "RECITATION"] as const)("%s as finish reason after some text", async (reason) => {
    says(text("Some words."), finish(reason));
    const events = await run("hi");
    expect(deltas(events)).toEqual(["Some ", "words."]);
    expect(events.at(-1)).toMatchObject({ errorCode: reason, finishReason: reason });
  });

  it("a finish reason with nothing said", async () => {
    says(finish("MALFORMED_FUNCTION_CALL"));
    const [event] = await run("hi", { streaming: false });
    expect(event).toMatchObject({ errorCode: "MALFORMED_FUNCTION_CALL" });
    expect(event?.content).toBeUndefined();
  });

  it("an empty response", async () => {
    says();
    const events = await run("hi");
    expect(partsOf(events)).toEqual([]);
    expect(events.at(-1)?.finishReason).toBe("STOP");
  });

  it("inline data, files, code and any other part", async () => {
    says(
      inlineData("image/png", "iVBORw0K"),
      file("https://example.com/a.pdf", "application/pdf"),
      code("print(1)"),
      codeResult("1\n"),
      part({ text: "signed", thoughtSignature: "c2ln" }),
    );
    const expected = [
      { inlineData: { mimeType: "image/png", data: "iVBORw0K" } },
      { fileData: { fileUri: "https://example.com/a.pdf", mimeType: "application/pdf" } },
      { executableCode: { language: "PYTHON", code: "print(1)" } },
      { codeExecutionResult: { outcome: "OUTCOME_OK", output: "1\n" } },
      { text: "signed", thoughtSignature: "c2ln" },
    ];
    expect(partsOf(await run("hi", { streaming: false }))).toEqual(expected);
    expect(partsOf(await run("hi")).slice(0, 5)).toEqual(expected);
  });

  it("grounding and citations with the last of it", async () => {
    const groundingMetadata = {
      webSearchQueries: ["tokyo"],
      groundingChunks: [{ web: { uri: "https://example.com", title: "Example" } }],
    };
    const citations = [{ startIndex: 0, endIndex: 5, uri: "https://example.com/book" }];
    says(text("As written there."), grounding(groundingMetadata), citation({ citations }));
    for (const streaming of [true, false]) {
      const events = await run("hi", { streaming });
      expect(events.at(-1)).toMatchObject({ groundingMetadata, citationMetadata: { citations } });
      if (streaming) expect(events[0]?.groundingMetadata).toBeUndefined();
    }
  });

  it("a dropped connection, after what was said before it", async () => {
    says(text("Starting now"), drop());
    const events = await run("hi");
    expect(deltas(events)).toEqual(["Starting ", "now"]);
    expect(events.at(-1)?.errorCode).toBeDefined();
    expect(await gemini.waitForEnd(1)).toBe("dropped");

    says(drop());
    const [event] = await run("hi", { streaming: false });
    expect(event?.errorCode).toBeDefined();
  });

  it("nothing more until a pause is over", async () => {
    const { opened, open } = gate();
    says(text("First "), pause(opened), text("second."));
    const received: (string | undefined)[] = [];
    const events = await run("hi", {
      onEvent: (event) => {
        received.push(...deltas([event]));
        if (received.length === 1) {
          expect(received).toEqual(["First "]);
          open();
        }
      },
    });
    expect(received).toEqual(["First ", "second."]);
    expect(events.at(-1)).toMatchObject({ partial: false, content: { parts: [{ text: "First second." }] } });
  });

  it("a finish after a pause that nothing follows", async () => {
    says(text("Only this."), pause(Promise.resolve()));
    expect((await run("hi")).at(-1)).toMatchObject({
      finishReason: "STOP",
      content: { parts: [{ text: "Only this." }] },
    });
  });
});

describe("the scripted Gemini", () => {
  it("passes the user's text to a sub-agent", async () => {
    gemini.reset([
      {
        when: ({ system }) => system.includes("Pass it on."),
        say: [call("transfer_to_agent", { agentName: "clerk" })],
      },
      { when: /weather/, say: [text("The clerk: sunny.")] },
    ]);
    const model = geminiAt({ model: "gemini-2.5-flash", url: gemini.url });
    const clerk = new LlmAgent({ name: "clerk", description: "Knows the weather.", model });
    const agent = new LlmAgent({ name: "root", model, instruction: "Pass it on.", subAgents: [clerk] });
    // Not streamed: ADK's root agent would go on after its transfer, because of the token counts that trail the call.
    const events = await run("The weather?", { agent, streaming: false });
    expect(partsOf(events).at(-1)).toEqual({ text: "The clerk: sunny." });
    expect(gemini.requests).toHaveLength(2);
    expect(gemini.requests[1]).toMatchObject({ text: "The weather?", fresh: true, responses: [] });
  });

  it("records each request", async () => {
    says(text("ok"));
    await run("hi");
    expect(gemini.requests).toHaveLength(1);
    expect(await gemini.waitForRequest(1)).toMatchObject({
      model: "gemini-2.5-flash",
      stream: true,
      text: "hi",
      fresh: true,
      responses: [],
      contents: [{ role: "user", parts: [{ text: "hi" }] }],
      toolNames: ["get_weather"],
      system: expect.stringContaining("Be kind."),
      request: 1,
      pairingErrors: [],
      body: { tools: [{ functionDeclarations: [{ name: "get_weather" }] }] },
    });
  });

  it("lets a test wait for a request that has not come yet", async () => {
    const { opened, open } = gate();
    says(pause(opened), text("ok"));
    const waiting = gemini.waitForRequest(1);
    const running = run("hi");
    expect((await waiting).text).toBe("hi");
    open();
    await running;
    expect(await gemini.waitForEnd(1)).toBe("sent");
  });

  it("keeps the last requests of a long conversation, and numbers on", async () => {
    const small = await startScriptedGemini({ rules: [{ say: [text("ok")] }], maxRequests: 5 });
    const contents = [hello.contents[0]];
    const far = small.waitForRequest(200);
    for (let turn = 1; turn <= 200; turn += 1) {
      const url = `${small.url}/v1beta/models/m:generateContent`;
      await (await fetch(url, { method: "POST", body: JSON.stringify({ contents }) })).json();
      contents.push({ role: "model", parts: [{ text: "ok" }] }, { role: "user", parts: [{ text: `turn ${turn}` }] });
    }
    expect(small.requests.map(({ request }) => request)).toEqual([196, 197, 198, 199, 200]);
    expect((await far).text).toBe("turn 199");
    expect(await small.waitForEnd(196)).toBe("sent");
    const sentence = "Request 195 is no longer kept: a scripted Gemini keeps the last 5 (maxRequests).";
    await expect(small.waitForRequest(195)).rejects.toThrow(sentence);
    await expect(small.waitForEnd(195)).rejects.toThrow(sentence);
    await small.close();
  });

  it.each([0, -1, 1.5, Number.NaN])("does not start with maxRequests %d", async (maxRequests) => {
    await expect(startScriptedGemini({ rules: [], maxRequests })).rejects.toThrow("maxRequests must be a whole number");
  });

  it("rejects what a test waits for when it is reset", async () => {
    const waiting = gemini.waitForRequest(1);
    gemini.reset();
    await expect(waiting).rejects.toThrow("reset");
  });

  it("stops when the client goes away", async () => {
    const controller = new AbortController();
    says(text("First "), pause(new Promise(() => undefined)), text("never."));
    await run("hi", { abortSignal: controller.signal, onEvent: () => controller.abort() });
    expect(await gemini.waitForEnd(1)).toBe("disconnected");
  });

  it("stops when the client goes away while a rule is still deciding", async () => {
    const controller = new AbortController();
    gemini.reset([{ say: () => new Promise<Piece[]>(() => undefined) }]);
    const running = run("hi", { abortSignal: controller.signal });
    await gemini.waitForRequest(1);
    controller.abort();
    await running;
    expect(await gemini.waitForEnd(1)).toBe("disconnected");
  });

  it("waits between pieces when asked to", async () => {
    const slow = await startScriptedGemini({ rules: [{ say: [text("one two three")] }], delayMs: 20 });
    const started = performance.now();
    const url = `${slow.url}/v1beta/models/m:streamGenerateContent?alt=sse`;
    await (await fetch(url, { method: "POST", body: JSON.stringify(hello) })).text();
    expect(performance.now() - started).toBeGreaterThanOrEqual(39);
    await slow.close();
  });

  it("refuses and records a conversation whose calls and responses do not pair", async () => {
    says(text("ok"));
    const contents = [
      { role: "user", parts: [{ text: "pay" }] },
      { role: "model", parts: [{ functionCall: { name: "pay", args: {} } }] },
      { role: "user", parts: [{ text: "well?" }] },
    ];
    const response = await post("/v1beta/models/m:streamGenerateContent?alt=sse", JSON.stringify({ contents }));
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      error: {
        code: 400,
        message: "Calls and responses do not pair: turn 1 calls [pay] but turn 2 responds to [].",
        status: "INVALID_ARGUMENT",
      },
    });
    expect(gemini.requests[0]?.pairingErrors).toEqual(["turn 1 calls [pay] but turn 2 responds to []"]);
    expect(await gemini.waitForEnd(1)).toBe("sent");

    const tolerant = await startScriptedGemini({ rules: [{ say: [text("ok")] }], strictPairing: false });
    const url = `${tolerant.url}/v1beta/models/m:generateContent`;
    expect((await fetch(url, { method: "POST", body: JSON.stringify({ contents }) })).status).toBe(200);
    expect(tolerant.requests[0]?.pairingErrors).toHaveLength(1);
    await tolerant.close();
  });

  it("sends chunks in the format of the API", async () => {
    says(text("Hello there."));
    const response = await post("/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse");
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const events = (await response.text()).split("\r\n\r\n").filter((event) => event !== "");
    expect(events.every((event) => event.startsWith("data: "))).toBe(true);
    const [first, last] = events.map((event) => JSON.parse(event.slice("data: ".length)));
    expect(first).toEqual({
      candidates: [{ content: { role: "model", parts: [{ text: "Hello " }] }, index: 0 }],
      usageMetadata: { promptTokenCount: 11, candidatesTokenCount: 2, totalTokenCount: 13 },
      modelVersion: "gemini-2.5-flash",
      responseId: expect.stringMatching(/^response-\d+$/),
    });
    expect(last).toMatchObject({ candidates: [{ finishReason: "STOP" }], responseId: first.responseId });
  });

  it.each(["v1", "v1beta", "v1alpha"])("responds under %s", async (version) => {
    says(text("ok"));
    expect((await post(`/${version}/models/m:generateContent`)).status).toBe(200);
  });

  it.each(["/", "/v1beta/models", "/v1beta/models/m:countTokens", "/models/m:generateContent"])(
    "responds with 404 at %s",
    async (path) => {
      const response = await post(path);
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ error: { code: 404, status: "NOT_FOUND" } });
    },
  );

  it("responds with 404 to another method", async () => {
    expect((await fetch(`${gemini.url}/v1beta/models/m:generateContent`)).status).toBe(404);
  });

  it.each([
    ["{", "Invalid JSON"],
    ["[]", "Invalid value"],
    ['{"contents":[]}', "contents"],
    ['{"contents":"hi"}', "contents"],
    ['{"contents":[{"parts":"hi"}]}', "contents.0.parts"],
  ])("refuses the body %s", async (body, message) => {
    const response = await post("/v1beta/models/m:generateContent", body);
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: { message: string; status: string } };
    expect(error.status).toBe("INVALID_ARGUMENT");
    expect(error.message).toContain(message);
    expect(gemini.requests).toEqual([]);
  });

  it("refuses a body that is too large", async () => {
    const response = await post("/v1beta/models/m:generateContent", "x".repeat(20 * 1024 * 1024 + 1));
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { message: expect.stringContaining("exceeds the limit") } });
  });

  it("names the request that no rule fits", async () => {
    gemini.reset([{ when: /weather/, say: [text("ok")] }]);
    const [event] = await run("hi");
    expect(event?.errorCode).toBe("500");
    expect(event?.errorMessage).toContain("no rule for request 1");
  });

  it("reports a script that throws", async () => {
    gemini.reset([
      {
        say: () => {
          throw new Error("oops");
        },
      },
    ]);
    const [event] = await run("hi");
    expect(event?.errorMessage).toContain("oops");
  });

  it("closes with a response under way", async () => {
    const other = await startScriptedGemini({ rules: [{ say: [text("a "), pause(new Promise(() => undefined))] }] });
    const url = `${other.url}/v1beta/models/m:streamGenerateContent?alt=sse`;
    const response = await fetch(url, { method: "POST", body: JSON.stringify(hello) });
    await other.close();
    await expect(response.text()).rejects.toThrow("terminated");
    await expect(fetch(url)).rejects.toThrow("fetch failed");
  });

  it("says so when the port is taken", async () => {
    const port = Number(new URL(gemini.url).port);
    await expect(startScriptedGemini({ rules: [], port })).rejects.toThrow("EADDRINUSE");
  });
});

const hello = { contents: [{ role: "user", parts: [{ text: "hi" }] }] };

function post(path: string, body = JSON.stringify(hello)): Promise<Response> {
  return fetch(`${gemini.url}${path}`, { method: "POST", body });
}
