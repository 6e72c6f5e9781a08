import { createConnection, type NetConnectOpts, type Socket } from "node:net";
import {
  FunctionTool,
  InMemorySessionService,
  LiveRequestQueue,
  LlmAgent,
  LogLevel,
  Runner,
  setLogLevel,
  type Event,
} from "@google/adk";
import {
  Behavior,
  FunctionResponseScheduling,
  GoogleGenAI,
  Modality,
  type LiveConnectConfig,
  type LiveServerMessage,
} from "@google/genai";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { WebSocket, type ClientOptions } from "ws";
import { z } from "zod";
import {
  callsIn,
  connectLive,
  createInbox,
  declarations,
  liveModel,
  said,
  words,
  type CallResponse,
  type Inbox,
  type LiveClient,
} from "../../test/fixtures/gemini-live-client.ts";
import { geminiAt } from "./gemini-at.ts";
import {
  blocked,
  call,
  cancelCalls,
  closeWith,
  drop,
  fail,
  finish,
  gate,
  goAway,
  grounding,
  inlineData,
  interrupted,
  pause,
  text,
  thought,
  usage,
  type Piece,
  type Rule,
} from "./script.ts";
import { startScriptedGemini, type ScriptedGemini } from "./scripted-gemini.ts";

setLogLevel(LogLevel.ERROR);

const model = liveModel;
let gemini: ScriptedGemini;
beforeAll(async () => {
  gemini = await startScriptedGemini({ rules: [] });
});
beforeEach(() => gemini.reset([]));
afterEach(() => gemini.reset([]));
afterAll(() => gemini.close());

const connect = (config?: LiveConnectConfig) => connectLive(gemini.url, config);
const says = (...pieces: Piece[]) => gemini.reset([{ say: pieces }]);
const free = (...names: string[]) => ({
  tools: [{ functionDeclarations: names.map((name) => ({ name, behavior: Behavior.NON_BLOCKING })) }],
});

/** A rule for what the user says, and one for responses. */
const payRules: Rule[] = [
  { when: /pay two/, say: [call("pay", { to: "A" }), call("pay", { to: "B" })] },
  { when: /pay/, say: [text("One moment. "), call("pay", { to: "A" }), text("Sent.")] },
  {
    when: (ask) => ask.responses.length > 0,
    say: (ask) => [
      text(
        ask.responses
          .map(({ id, args, response }) => `${id} to ${String(args["to"])}: ${String(response["ok"])}`)
          .join(", "),
      ),
    ],
  },
  { when: /\w/, say: (ask) => [text(`You said ${ask.text}`)] },
];

const service = (version: string) => `google.ai.generativelanguage.${version}.GenerativeService.BidiGenerateContent`;

interface RawOptions {
  setup?: boolean;
  awaitSetup?: boolean;
  path?: string;
  binary?: boolean;
  createConnection?: ClientOptions["createConnection"];
}

/** A bare socket, for what the real client would not send. */
async function connectRaw(url = gemini.url, options: RawOptions = {}): Promise<{ socket: WebSocket; inbox: Inbox }> {
  const { setup = true, awaitSetup = setup, path = `/ws/${service("v1beta")}`, binary = false } = options;
  const inbox = createInbox();
  const socket = new WebSocket(`${url.replace("http", "ws")}${path}?key=none`, {
    createConnection: options.createConnection,
  });
  socket.on("message", (data: Buffer) => inbox.push(JSON.parse(data.toString()) as LiveServerMessage));
  socket.on("close", (code, reason) => inbox.end(code, reason.toString()));
  socket.on("error", () => undefined);
  await new Promise((resolve) => socket.once("open", resolve));
  const first = JSON.stringify({
    setup: { model: `models/${model}`, tools: [{ functionDeclarations: declarations }] },
  });
  if (setup) socket.send(binary ? Buffer.from(first) : first);
  if (awaitSetup) await inbox.until(({ setupComplete }) => setupComplete !== undefined);
  return { socket, inbox };
}

describe("the live client gets", () => {
  it("the end of the setup, and the session shows the setup to the test", async () => {
    const client = await connect();
    await client.until(({ setupComplete }) => setupComplete !== undefined);
    const session = await gemini.live.waitForSession(1);
    expect(session).toMatchObject({ model, open: true, errors: [], closeCode: undefined });
    expect(session.setup).toMatchObject({
      model: `models/${model}`,
      systemInstruction: { parts: [{ text: "Be kind." }] },
      generationConfig: { responseModalities: ["TEXT"] },
    });
  });

  it("thoughts and text word by word, then the end of the turn with the token counts", async () => {
    says(thought("Hm."), text("Hello there."));
    const client = await connect();
    client.ask("hi");
    const turn = await client.turn();
    expect(turn.slice(-5)).toMatchObject([
      { serverContent: { modelTurn: { role: "model", parts: [{ text: "Hm.", thought: true }] } } },
      { serverContent: { modelTurn: { role: "model", parts: [{ text: "Hello " }] } } },
      { serverContent: { modelTurn: { role: "model", parts: [{ text: "there." }] } } },
      { serverContent: { generationComplete: true } },
      { serverContent: { turnComplete: true }, usageMetadata: { responseTokenCount: 4, thoughtsTokenCount: 1 } },
    ]);
    expect(gemini.requests[0]).toMatchObject({
      wire: "live",
      text: "hi",
      fresh: true,
      model,
      system: "Be kind.",
      toolNames: ["pay", "look"],
      pairingErrors: [],
      contents: [{ role: "user", parts: [{ text: "hi" }] }],
    });
    await expect(gemini.waitForEnd(1)).resolves.toBe("sent");
  });
});

describe("the live client also gets", () => {
  it("other parts, grounding, the token counts of the script and the reason of the end", async () => {
    says(
      inlineData("image/png", "AAAA"),
      text("Look."),
      grounding({ webSearchQueries: ["cats"] }),
      usage({ promptTokenCount: 7, candidatesTokenCount: 8, totalTokenCount: 15 }),
      finish("SAFETY"),
    );
    const client = await connect();
    client.ask("cats");
    const turn = await client.turn();
    expect(turn[1]).toMatchObject({ serverContent: { modelTurn: { parts: [{ inlineData: { data: "AAAA" } }] } } });
    expect(turn.at(-1)).toEqual({
      serverContent: {
        turnComplete: true,
        turnCompleteReason: "GENERATED_CONTENT_SAFETY",
        groundingMetadata: { webSearchQueries: ["cats"] },
      },
      usageMetadata: { promptTokenCount: 7, responseTokenCount: 8, totalTokenCount: 15 },
    });
  });

  it("only the end of a turn if the prompt is refused", async () => {
    says(blocked("PROHIBITED_CONTENT"), text("never"));
    const client = await connect();
    client.ask("something bad");
    const turn = await client.turn();
    expect(said(turn)).toBe("");
    expect(turn.at(-1)).toMatchObject({ serverContent: { turnCompleteReason: "PROHIBITED_INPUT_CONTENT" } });
  });

  it("a response to realtime text, and none to audio", async () => {
    gemini.reset(payRules);
    const client = await connect();
    client.session.sendRealtimeInput({ audio: { mimeType: "audio/pcm", data: "AAAA" } });
    client.session.sendRealtimeInput({ text: "hello" });
    expect(said(await client.turn())).toBe("You said hello");
    expect(gemini.requests).toHaveLength(1);
    expect(gemini.live.sessions[0]?.messages.map((message) => Object.keys(message)[0])).toEqual([
      "setup",
      "realtimeInput",
      "realtimeInput",
    ]);
  });

  it("nothing until a turn is complete, and then a response to all of it", async () => {
    gemini.reset([{ say: (ask) => [text(`${ask.contents.length}`)] }]);
    const client = await connect();
    const turns = [
      { role: "user", parts: [{ text: "one" }] },
      { role: "model", parts: [{ text: "two" }] },
    ];
    client.session.sendClientContent({ turns, turnComplete: false });
    client.ask("three");
    expect(said(await client.turn())).toBe("3");
    expect(gemini.requests[0]).toMatchObject({ text: "three", fresh: true });
    client.ask("five");
    expect(said(await client.turn())).toBe("5");
    expect(gemini.requests[1]?.contents[3]).toEqual({ role: "model", parts: [{ text: "3" }] });
  });

  it("nothing for a note that comes during a response; the next request contains it", async () => {
    const { opened, open } = gate();
    gemini.reset([{ when: /slow/, say: [pause(opened), text("Well, yes.")] }, ...payRules]);
    const client = await connect();
    client.ask("slow");
    await gemini.waitForRequest(1);
    const note = { role: "user", parts: [{ text: "[context, not from the user] It rains." }] };
    client.session.sendClientContent({ turns: [note], turnComplete: false });
    await gemini.live.waitForMessage(({ clientContent }) => clientContent?.turnComplete === false);
    open();
    expect(said(await client.turn())).toBe("Well, yes.");
    client.ask("hello");
    await client.turn();
    expect(gemini.requests[0]?.contents).toHaveLength(1);
    expect(gemini.requests[1]?.contents.slice(1, 3)).toEqual([
      { role: "model", parts: [{ text: "Well, yes." }] },
      note,
    ]);
  });

  it("words with a delay between them, and the pieces that a rule promises", async () => {
    const slow = await startScriptedGemini({ rules: [{ say: () => Promise.resolve([text("a b c")]) }], delayMs: 5 });
    const { socket, inbox } = await connectRaw(slow.url);
    const began = performance.now();
    socket.send(JSON.stringify({ clientContent: { turns: [], turnComplete: true } }));
    expect(words(await inbox.turn())).toEqual(["a ", "b ", "c"]);
    expect(performance.now() - began).toBeGreaterThanOrEqual(8);
    await slow.close();
  });
});

describe("a call the model waits for", () => {
  it("is followed by nothing until its response, which continues the same turn", async () => {
    gemini.reset(payRules);
    const client = await connect();
    client.ask("pay");
    const asked = await client.call();
    expect(said(asked)).toBe("One moment. ");
    expect(callsIn(asked)).toEqual([{ id: "1", name: "pay", args: { to: "A" } }]);
    expect(asked.at(-1)?.usageMetadata?.totalTokenCount).toBeGreaterThan(0);
    await expect(gemini.waitForEnd(1)).resolves.toBe("sent");
    client.respond({ id: "1", name: "pay", response: { ok: true } });
    const turn = await client.turn();
    expect(said(turn)).toBe("1 to A: true");
    expect(turn.filter(({ serverContent }) => serverContent?.turnComplete)).toHaveLength(1);
    expect(gemini.requests[1]).toMatchObject({ text: "pay", fresh: false, wire: "live" });
  });

  it.each([
    ["in order", ["1", "2"]],
    ["the other way round", ["2", "1"]],
  ])(
    "is one of two that wait for each other; if they come %s, the responses are in the order of the calls",
    async (_, order) => {
      gemini.reset(payRules);
      const client = await connect();
      client.ask("pay two");
      expect(callsIn(await client.call()).map(({ id }) => id)).toEqual(["1", "2"]);
      for (const id of order) client.respond({ id, name: "pay", response: { ok: id } });
      expect(said(await client.turn())).toBe("1 to A: 1, 2 to B: 2");
      expect(gemini.requests).toHaveLength(2);
    },
  );

  it("can get its response in one message with others", async () => {
    gemini.reset(payRules);
    const client = await connect();
    client.ask("pay two");
    await client.call();
    client.respond({ id: "2", response: { ok: 2 } }, { id: "1", response: { ok: 1 } });
    expect(said(await client.turn())).toBe("1 to A: 1, 2 to B: 2");
  });

  it("stays open while the user writes on, and the model reports its response once", async () => {
    gemini.reset(payRules);
    const client = await connect();
    client.ask("pay two");
    await client.call();
    client.respond({ id: "2", response: { ok: 2 } });
    client.ask("hello");
    expect(said(await client.turn())).toBe("You said hello");
    expect(gemini.requests[1]).toMatchObject({ text: "hello", fresh: true, responses: [] });
    client.respond({ id: "1", response: { ok: 1 } });
    expect(said(await client.turn())).toBe("1 to A: 1, 2 to B: 2");
    client.ask("bye");
    expect(said(await client.turn())).toBe("You said bye");
    expect(gemini.live.errors).toEqual([]);
    expect(client.all.some(({ serverContent }) => serverContent?.interrupted)).toBe(false);
  });

  it("has its response wait until the response under way has ended", async () => {
    const { opened, open } = gate();
    gemini.reset([{ when: /slow/, say: [text("Well, "), pause(opened), text("yes.")] }, ...payRules]);
    const client = await connect();
    client.ask("pay");
    await client.call();
    client.ask("slow");
    await client.until((message) => said([message]) === "Well, ");
    client.respond({ id: "1", response: { ok: true } });
    await gemini.live.waitForMessage(({ toolResponse }) => toolResponse !== undefined);
    open();
    expect(said(await client.turn())).toBe("yes.");
    expect(said(await client.turn())).toBe("1 to A: true");
  });

  it("can be one of several with a pause between them; the model continues when it has all responses", async () => {
    const { opened, open } = gate();
    gemini.reset([
      { when: /go/, say: [call("pay", { to: "A" }), pause(opened), call("pay", { to: "B" })] },
      ...payRules,
    ]);
    const client = await connect();
    client.ask("go");
    await client.call();
    client.respond({ id: "1", response: { ok: 1 } });
    await gemini.live.waitForMessage(({ toolResponse }) => toolResponse !== undefined);
    open();
    await client.call();
    client.respond({ id: "2", response: { ok: 2 } });
    expect(said(await client.turn())).toBe("1 to A: 1, 2 to B: 2");
  });

  it("can get its response before the model has said everything; the turn continues", async () => {
    const { opened, open } = gate();
    gemini.reset([{ when: /go/, say: [call("pay", { to: "A" }), pause(opened), text("Well. ")] }, ...payRules]);
    const client = await connect();
    client.ask("go");
    await client.call();
    client.respond({ id: "1", response: { ok: 1 } });
    await gemini.live.waitForMessage(({ toolResponse }) => toolResponse !== undefined);
    open();
    expect(said(await client.turn())).toBe("Well. 1 to A: 1");
  });

  it("keeps the id of its piece; the others are numbered", async () => {
    says(call("pay", {}, { id: "mine" }), call("pay"));
    const client = await connect();
    client.ask("go");
    expect(callsIn(await client.call()).map(({ id }) => id)).toEqual(["mine", "1"]);
  });

  it("has an id that another session uses too", async () => {
    gemini.reset(payRules);
    for (const client of [await connect(), await connect()]) {
      client.ask("pay");
      expect(callsIn(await client.call())[0]?.id).toBe("1");
    }
    expect(gemini.live.open).toBe(2);
  });
});

describe("a call the model does not wait for", () => {
  it("is followed by the rest of the response, and the model reports each result by itself", async () => {
    gemini.reset([
      { when: /go/, say: [call("pay", { to: "A" }), call("pay", { to: "B" }), text("On their way.")] },
      ...payRules,
    ]);
    const client = await connect(free("pay", "look"));
    client.ask("go");
    const turn = await client.turn();
    expect(callsIn(turn)).toHaveLength(2);
    expect(said(turn)).toBe("On their way.");
    client.respond({ id: "2", response: { ok: 2 } });
    expect(said(await client.turn())).toBe("2 to B: 2");
    client.ask("hello");
    expect(said(await client.turn())).toBe("You said hello");
    client.respond({ id: "1", response: { ok: 1 } });
    expect(said(await client.turn())).toBe("1 to A: 1");
  });

  it("can get its response with others; the model reports them one after the other", async () => {
    gemini.reset(payRules);
    const client = await connect(free("pay"));
    client.ask("pay two");
    await client.turn();
    client.respond({ id: "1", response: { ok: 1 } }, { id: "2", response: { ok: 2 } });
    expect(said(await client.turn())).toBe("1 to A: 1");
    expect(said(await client.turn())).toBe("2 to B: 2");
  });

  it("is waited for if it comes together with a blocking call", async () => {
    says(call("pay"), call("look"), text("never"));
    const client = await connect({
      tools: [{ functionDeclarations: [{ name: "pay", behavior: Behavior.NON_BLOCKING }, { name: "look" }] }],
    });
    client.ask("go");
    await client.call();
    await gemini.waitForEnd(1);
    client.session.close();
    await client.closed;
    expect(said(client.all)).toBe("");
    expect(client.all.some(({ serverContent }) => serverContent?.turnComplete)).toBe(false);
  });

  it("can be any call, if the settings say so, until a reset", async () => {
    gemini.reset(payRules, { live: { behavior: "NON_BLOCKING" } });
    const client = await connect();
    client.ask("pay");
    expect(said(await client.turn())).toBe("One moment. Sent.");
    gemini.reset(payRules);
    const later = await connect();
    later.ask("pay");
    await later.call();
    await gemini.waitForEnd(1);
    expect(said(later.all)).toBe("One moment. ");
  });

  it("has a response whose scheduling decides when the model reports it", async () => {
    const { opened, open } = gate();
    gemini.reset([{ when: /slow/, say: [text("Well, "), pause(opened), text("yes.")] }, ...payRules]);
    const client = await connect(free("pay"));
    client.ask("pay two");
    await client.turn();
    client.ask("pay");
    await client.turn();
    client.ask("slow");
    await client.until((message) => said([message]) === "Well, ");
    client.respond({ id: "3", response: { ok: 3 }, scheduling: FunctionResponseScheduling.WHEN_IDLE });
    client.respond({ id: "1", response: { ok: 1 }, scheduling: FunctionResponseScheduling.INTERRUPT });
    await client.until(({ serverContent }) => serverContent?.interrupted === true);
    await client.turn();
    expect(said(await client.turn())).toBe("1 to A: 1");
    expect(said(await client.turn())).toBe("3 to A: 3");
    client.respond({ id: "2", response: { ok: 2 }, scheduling: FunctionResponseScheduling.SILENT });
    client.ask("slow");
    open();
    expect(said(await client.turn())).toBe("Well, yes.");
    expect(gemini.requests.at(-1)).toMatchObject({ text: "slow", responses: [{ id: "2", args: { to: "B" } }] });
  });
});

describe("a response is interrupted", () => {
  it("by the user's next turn, and keeps what was said", async () => {
    gemini.reset([{ when: /slow/, say: [text("Well, "), pause(new Promise(() => undefined))] }, ...payRules]);
    const client = await connect();
    client.ask("slow");
    await client.until((message) => said([message]) === "Well, ");
    client.ask("hello");
    expect(await client.turn()).toEqual([
      { serverContent: { interrupted: true } },
      { serverContent: { turnComplete: true } },
    ]);
    expect(said(await client.turn())).toBe("You said hello");
    await expect(gemini.waitForEnd(1)).resolves.toBe("interrupted");
    expect(gemini.requests[1]?.contents).toEqual([
      { role: "user", parts: [{ text: "slow" }] },
      { role: "model", parts: [{ text: "Well, " }] },
      { role: "user", parts: [{ text: "hello" }] },
    ]);
  });

  it("before its first word, and the next request still contains what it was to report", async () => {
    const never = pause(new Promise(() => undefined));
    let asked = 0;
    gemini.reset([
      { when: (ask) => ask.responses.length > 0 && (asked += 1) === 1, say: [never, text("never")] },
      ...payRules,
    ]);
    const client = await connect();
    client.ask("pay");
    await client.call();
    client.respond({ id: "1", response: { ok: true } });
    await gemini.waitForRequest(2);
    client.ask("hello");
    await client.turn();
    expect(said(await client.turn())).toBe("1 to A: true");
    expect(gemini.requests[2]).toMatchObject({ text: "hello", fresh: true, responses: [{ id: "1" }] });
  });

  it("by the script, and the turn is over", async () => {
    says(text("Well, "), interrupted(), text("never"));
    const client = await connect();
    client.ask("go");
    const turn = await client.turn();
    expect(turn.slice(-2)).toEqual([
      { serverContent: { interrupted: true } },
      { serverContent: { turnComplete: true } },
    ]);
    expect(said(turn)).toBe("Well, ");
    await expect(gemini.waitForEnd(1)).resolves.toBe("interrupted");
  });
});

describe("the model", () => {
  it("takes its calls back, and refuses later responses to them", async () => {
    const { opened, open } = gate();
    gemini.reset([{ say: [call("pay"), call("look"), pause(opened), cancelCalls(), text("Never mind.")] }]);
    const client = await connect();
    client.ask("go");
    await client.call();
    client.respond({ id: "1", response: {} });
    await gemini.live.waitForMessage(({ toolResponse }) => toolResponse !== undefined);
    open();
    const rest = await client.until(({ toolCallCancellation }) => toolCallCancellation !== undefined);
    expect(rest.at(-1)).toEqual({ toolCallCancellation: { ids: ["2"] } });
    client.respond({ id: "2", response: {} });
    await expect(client.closed).resolves.toMatchObject({ code: 1007 });
    expect(gemini.live.sessions[0]?.errors).toEqual(['a response to call "2", which was cancelled']);
  });

  it("ends its turn if it took all of them back", async () => {
    gemini.reset([
      { when: /stop/, say: [cancelCalls(), text("Stopped.")] },
      { when: /go/, say: [call("pay"), cancelCalls(), text("Never mind.")] },
      ...payRules,
    ]);
    const client = await connect();
    client.ask("go");
    expect(said(await client.turn())).toBe("Never mind.");
    client.ask("pay two");
    await client.call();
    client.ask("stop");
    const turn = await client.turn();
    expect(turn[0]).toEqual({ toolCallCancellation: { ids: ["2", "3"] } });
    expect(said(turn)).toBe("Stopped.");
  });

  it("reports the responses that came before it took back the other calls", async () => {
    gemini.reset([{ when: /stop/, say: [cancelCalls(), text("Stopped.")] }, ...payRules]);
    const client = await connect();
    client.ask("pay two");
    await client.call();
    client.respond({ id: "2", response: { ok: 2 } });
    client.ask("stop");
    expect(said(await client.turn())).toBe("Stopped.");
    expect(said(await client.turn())).toBe("2 to B: 2");
  });

  it("announces that the connection will be closed, and continues", async () => {
    says(goAway("5s"), text("Soon."));
    const client = await connect();
    client.ask("go");
    const turn = await client.turn();
    expect(turn).toContainEqual({ goAway: { timeLeft: "5s" } });
    expect(said(turn)).toBe("Soon.");
  });

  it.each<[string, Piece, { code: number; reason?: string }]>([
    ["the code of the script", closeWith(1000, "Bye"), { code: 1000, reason: "Bye" }],
    ["an internal error", fail(500, "Internal error"), { code: 1011, reason: "Internal error" }],
    ["an exceeded quota", fail(429, "You exceeded your quota"), { code: 1011, reason: "You exceeded your quota" }],
    ["a bad request", fail(400, "No"), { code: 1008, reason: "No" }],
    ["a reason that is too long", fail(500, "é".repeat(100)), { code: 1011, reason: "é".repeat(61) }],
    ["no code at all", drop(), { code: 1006 }],
  ])("closes with %s, and the words before it arrive", async (_, piece, end) => {
    says(text("One two"), piece, text("never"));
    const client = await connect();
    client.ask("go");
    await expect(client.closed).resolves.toMatchObject(end);
    expect(said(client.all)).toBe("One two");
    await gemini.live.sessions[0]?.closed;
    expect(gemini.live).toMatchObject({ open: 0, sessions: [{ open: false, closeCode: end.code }] });
    await expect(gemini.waitForEnd(1)).resolves.toBe(end.code === 1006 ? "dropped" : "sent");
  });

  it("closes if no rule fits or the script fails", async () => {
    const client = await connect();
    client.ask("go");
    await expect(client.closed).resolves.toEqual({ code: 1011, reason: "The script has no rule for request 1." });
    gemini.reset([{ say: () => Promise.reject(new Error("Oh")) }]);
    const next = await connect();
    next.ask("go");
    await expect(next.closed).resolves.toEqual({ code: 1011, reason: "The script failed: Error: Oh" });
  });

  it("reports the end of a response whose client went away", async () => {
    says(text("One "), pause(new Promise(() => undefined)));
    const client = await connect();
    client.ask("go");
    await client.until((message) => said([message]) === "One ");
    client.session.close();
    await expect(gemini.waitForEnd(1)).resolves.toBe("disconnected");
    await gemini.live.sessions[0]?.closed;
    expect(gemini.live.open).toBe(0);
  });
});

describe("a session of a test", () => {
  it("sends, closes and drops while the model says nothing", async () => {
    const client = await connect();
    const session = await gemini.live.waitForSession(1);
    session.send({ goAway: { timeLeft: "1s" } });
    await client.until((message) => message.goAway?.timeLeft === "1s");
    session.close(1001, "Going");
    await expect(client.closed).resolves.toEqual({ code: 1001, reason: "Going" });
    const next = await connect();
    (await gemini.live.waitForSession(2)).drop();
    await expect(next.closed).resolves.toMatchObject({ code: 1006 });
  });

  it("ends with a reset, which rejects what the test waits for", async () => {
    const client = await connect();
    const waiting = [
      gemini.live.waitForSession(2),
      gemini.live.waitForMessage(({ toolResponse }) => toolResponse !== undefined),
    ];
    gemini.reset([]);
    await expect(client.closed).resolves.toMatchObject({ code: 1006 });
    for (const one of waiting) await expect(one).rejects.toThrow("reset");
    expect(gemini.live).toMatchObject({ open: 0, sessions: [] });
  });

  it("ends when the server is closed, even during a response", async () => {
    const own = await startScriptedGemini({ rules: [{ say: [text("One"), pause(new Promise(() => undefined))] }] });
    const { socket, inbox } = await connectRaw(own.url);
    socket.send(JSON.stringify({ realtimeInput: { text: "go" } }));
    await inbox.until((message) => said([message]) === "One");
    await connectRaw(own.url);
    expect(own.live.open).toBe(2);
    await own.close();
    await expect(inbox.closed).resolves.toMatchObject({ code: 1006 });
    await expect(fetch(own.url)).rejects.toThrow("fetch failed");
  });
});

describe("what Gemini refuses:", () => {
  it.each<[string, CallResponse, string]>([
    ["to a call never made", { id: "7", response: {} }, 'call "7", which this session never made'],
    ["without an id", { response: {} }, "call without an id, which this session never made"],
    ["of another tool", { id: "1", name: "look", response: {} }, 'of look to call "1", which is one of pay'],
  ])("a response %s", async (_, response, problem) => {
    gemini.reset(payRules);
    const { socket, inbox } = await connectRaw();
    socket.send(JSON.stringify({ realtimeInput: { text: "pay" } }));
    await inbox.call();
    socket.send(JSON.stringify({ toolResponse: { functionResponses: [response] } }));
    await expect(inbox.closed).resolves.toMatchObject({ code: 1007, reason: expect.stringContaining(problem) });
    expect(gemini.live.errors).toEqual([expect.stringContaining(problem)]);
  });

  it("a second response to a call", async () => {
    gemini.reset(payRules);
    const client = await connect();
    client.ask("pay");
    await client.call();
    client.respond({ id: "1", response: { ok: true } });
    await client.turn();
    client.respond({ id: "1", response: { ok: true } });
    await expect(client.closed).resolves.toMatchObject({ code: 1007 });
    expect(gemini.live.errors).toEqual(['a response to call "1", which already has one']);
  });

  it("calls and responses in the history", async () => {
    const client = await connect();
    const turns = [{ role: "model", parts: [{ functionCall: { id: "1", name: "pay", args: {} } }] }];
    client.session.sendClientContent({ turns, turnComplete: true });
    await expect(client.closed).resolves.toMatchObject({ code: 1007 });
    expect(gemini.requests).toEqual([]);
    expect(gemini.live.errors).toEqual(["function calls and responses cannot be sent as client content"]);
  });

  it("is only recorded if pairing is not strict", async () => {
    const lax = await startScriptedGemini({ rules: payRules, strictPairing: false });
    const { socket, inbox } = await connectRaw(lax.url);
    socket.send(JSON.stringify({ toolResponse: { functionResponses: [{ id: "7", name: "pay", response: {} }] } }));
    socket.send(JSON.stringify({ realtimeInput: { text: "hello" } }));
    await inbox.turn();
    socket.send(JSON.stringify({ realtimeInput: { text: "again" } }));
    await inbox.turn();
    expect(lax.live.sessions[0]?.errors).toHaveLength(1);
    expect(lax.requests.map((request) => request.pairingErrors.length)).toEqual([1, 0]);
    await lax.close();
  });

  it("a key, before the setup is complete", async () => {
    const refuse = { code: 1008, reason: "API key not valid. Please pass a valid API key." };
    gemini.reset([], { live: { refuse } });
    const inbox = createInbox();
    const ai = new GoogleGenAI({ apiKey: "wrong", vertexai: false, httpOptions: { baseUrl: gemini.url } });
    void ai.live.connect({
      model,
      callbacks: {
        onmessage: (message) => inbox.push(message),
        onclose: ({ code, reason }) => inbox.end(code, reason),
      },
    });
    await expect(inbox.closed).resolves.toEqual(refuse);
    expect(inbox.all).toEqual([]);
    expect((await gemini.live.waitForSession(1)).setup).toMatchObject({ model: `models/${model}` });
  });

  it("nothing, but says nothing either, if it is silent", async () => {
    gemini.reset(payRules, { live: { silent: true } });
    const { socket, inbox } = await connectRaw(gemini.url, { awaitSetup: false });
    socket.send(JSON.stringify({ realtimeInput: { text: "hello" } }));
    await gemini.live.waitForMessage(({ realtimeInput }) => realtimeInput?.text === "hello");
    gemini.live.sessions[0]?.close(1000);
    await inbox.closed;
    expect(inbox.all).toEqual([]);
    expect(gemini.requests).toEqual([]);
  });

  it.each<[string, (string | Buffer)[], number]>([
    ["text that is not JSON", ["{"], 1007],
    ["JSON that is not an object", ["[]"], 1007],
    ["a message without a field", ["{}"], 1007],
    ["two messages in one", ['{"setup":{"model":"m"},"realtimeInput":{"text":"x"}}'], 1007],
    ["a field of another type", ['{"setup":{"model":"m"}}', '{"clientContent":{"turns":"hi"}}'], 1007],
    ["text before the setup", ['{"realtimeInput":{"text":"hello"}}'], 1007],
    ["a second setup", ['{"setup":{"model":"m"}}', '{"setup":{"model":"m"}}'], 1007],
    ["bytes that are not text", [Buffer.from([0xff, 0xfe, 0x00])], 1007],
    ["25 MB", [Buffer.alloc(25 * 1024 * 1024, 0x20)], 1009],
  ])("%s", async (_, frames, code) => {
    const { socket, inbox } = await connectRaw(gemini.url, { setup: false });
    for (const frame of frames) socket.send(frame);
    await expect(inbox.closed).resolves.toMatchObject({ code });
    const session = await gemini.live.waitForSession(1);
    await session.closed;
    expect(gemini.live.open).toBe(0);
    expect(session.errors).toHaveLength(code === 1007 ? 1 : 0);
    // The next one is served as ever.
    gemini.reset(payRules);
    const next = await connect();
    next.ask("hello");
    expect(said(await next.turn())).toBe("You said hello");
  });

  it("everything after a message that it refused", async () => {
    gemini.reset(payRules);
    const { socket, inbox } = await connectRaw(gemini.url, { setup: false });
    for (const frame of ["{", '{"setup":{"model":"m"}}', '{"realtimeInput":{"text":"hello"}}']) socket.send(frame);
    await expect(inbox.closed).resolves.toMatchObject({ code: 1007 });
    expect(gemini.live.sessions[0]?.messages).toEqual([]);
    expect(gemini.requests).toEqual([]);
  });

  it("another path", async () => {
    const socket = new WebSocket(`${gemini.url.replace("http", "ws")}/ws/elsewhere`);
    const refused = await new Promise<Error>((resolve) => socket.once("error", resolve));
    expect(refused.message).toContain("404");
    expect(gemini.live.sessions).toEqual([]);
  });
});

describe("on the wire", () => {
  it("no word follows an interruption, even if the model was about to say it", async () => {
    const { opened, open } = gate();
    gemini.reset([{ when: /slow/, say: [text("Well, "), pause(opened), text("never")] }, ...payRules]);
    let tcp!: Socket;
    const { socket, inbox } = await connectRaw(gemini.url, {
      createConnection: (options) => {
        tcp = createConnection(options as NetConnectOpts);
        return tcp;
      },
    });
    socket.send(JSON.stringify({ realtimeInput: { text: "slow" } }));
    await inbox.until((message) => said([message]) === "Well, ");
    // Both frames arrive at once: the pause ends, and the user's text comes before the model continues.
    void gemini.live.waitForMessage(({ realtimeInput }) => {
      if (realtimeInput?.["audioStreamEnd"] === true) open();
      return false;
    });
    tcp.cork();
    socket.send(JSON.stringify({ realtimeInput: { audioStreamEnd: true } }));
    socket.send(JSON.stringify({ realtimeInput: { text: "hello" } }));
    tcp.uncork();
    await inbox.turn();
    expect(said(await inbox.turn())).toBe("You said hello");
    expect(said(inbox.all)).not.toContain("never");
  });

  it("a refused upgrade leaves no connection open, whatever the client does", async () => {
    const own = await startScriptedGemini({ rules: [] });
    const tcp = createConnection({ port: Number(new URL(own.url).port), host: "127.0.0.1", allowHalfOpen: true });
    tcp.write("GET /elsewhere HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    const reply: Buffer[] = [];
    for await (const chunk of tcp) reply.push(chunk as Buffer);
    expect(Buffer.concat(reply).toString()).toMatch(/^HTTP\/1.1 404 /);
    await own.close();
    tcp.destroy();
  });

  it.each(["/ws", "//ws"])("the path may begin with %s, in either version, and frames may be binary", async (start) => {
    gemini.reset(payRules);
    for (const version of ["v1alpha", "v1beta"]) {
      const { socket, inbox } = await connectRaw(gemini.url, { path: `${start}/${service(version)}`, binary: true });
      socket.send(Buffer.from(JSON.stringify({ realtimeInput: { text: "hello" } })));
      expect(said(await inbox.turn())).toBe("You said hello");
    }
  });
});

describe("a session is resumed", () => {
  const resumption = (handle?: string): LiveConnectConfig => ({
    sessionResumption: handle === undefined ? {} : { handle },
  });
  const handleIn = async (client: LiveClient): Promise<string> => {
    const messages = await client.until(({ sessionResumptionUpdate }) => sessionResumptionUpdate !== undefined);
    const update = messages.at(-1)?.sessionResumptionUpdate;
    expect(update?.resumable).toBe(true);
    return String(update?.newHandle);
  };

  it("with its handle: the conversation, the open calls and the numbering of ids continue", async () => {
    gemini.reset(payRules);
    const client = await connect(resumption());
    const first = await handleIn(client);
    client.ask("hello");
    await client.turn();
    const second = await handleIn(client);
    expect(second).not.toBe(first);
    client.ask("pay");
    await client.call();
    client.session.close();
    await client.closed;

    const later = await connect(resumption(second));
    later.respond({ id: "1", response: { ok: true } });
    expect(said(await later.turn())).toBe("1 to A: true");
    later.ask("pay");
    expect(callsIn(await later.call())[0]?.id).toBe("2");
    expect(gemini.requests.at(-1)?.contents[0]).toEqual({ role: "user", parts: [{ text: "hello" }] });
    expect(gemini.live.sessions[1]?.errors).toEqual([]);
  });

  it("on another socket while the first is open, which is then closed", async () => {
    gemini.reset([{ when: /slow/, say: [text("Well, "), pause(new Promise(() => undefined))] }, ...payRules]);
    const client = await connect(resumption());
    const handle = await handleIn(client);
    client.ask("slow");
    await client.until((message) => said([message]) === "Well, ");
    const later = await connect(resumption(handle));
    await expect(client.closed).resolves.toMatchObject({ code: 1008 });
    later.ask("hello");
    expect(said(await later.turn())).toBe("You said hello");
    expect(gemini.requests[1]?.contents).toHaveLength(3);
  });

  it("with the responses that the model had not reported", async () => {
    gemini.reset([{ when: /slow/, say: [text("Well, "), pause(new Promise(() => undefined))] }, ...payRules]);
    const client = await connect(resumption());
    const handle = await handleIn(client);
    client.ask("pay");
    await client.call();
    client.ask("slow");
    await client.until((message) => said([message]) === "Well, ");
    client.respond({ id: "1", response: { ok: true } });
    await gemini.live.waitForMessage(({ toolResponse }) => toolResponse !== undefined);
    client.session.close();
    await gemini.live.sessions[0]?.closed;
    const later = await connect(resumption(handle));
    expect(said(await later.turn())).toBe("1 to A: true");
  });

  it("not with a handle that was never issued", async () => {
    const { socket, inbox } = await connectRaw(gemini.url, { setup: false });
    socket.send(JSON.stringify({ setup: { model: "models/m", sessionResumption: { handle: "made-up" } } }));
    await expect(inbox.closed).resolves.toMatchObject({ code: 1008 });
    expect(inbox.all).toEqual([]);
  });

  it("never if the client did not ask for handles", async () => {
    gemini.reset(payRules);
    const client = await connect();
    client.ask("hello");
    await client.turn();
    client.session.close();
    await client.closed;
    expect(client.all.some(({ sessionResumptionUpdate }) => sessionResumptionUpdate)).toBe(false);
  });
});

describe("a long-lived scripted Gemini", () => {
  it("keeps the last requests of a session", async () => {
    const small = await startScriptedGemini({ rules: payRules, maxRequests: 5 });
    const client = await connectLive(small.url);
    for (let turn = 1; turn <= 50; turn += 1) {
      client.ask(`turn ${turn}`);
      await client.turn();
    }
    expect(small.requests.map(({ request }) => request)).toEqual([46, 47, 48, 49, 50]);
    // The session itself forgets nothing: the model knows the whole conversation.
    expect(small.requests.at(-1)?.contents).toHaveLength(99);
    await expect(small.waitForEnd(45)).rejects.toThrow("Request 45 is no longer kept");
    await small.close();
  });

  it("keeps the last sessions, and still knows the older ones that are open", async () => {
    const small = await startScriptedGemini({ rules: payRules, maxRequests: 3 });
    const oldest = await connectLive(small.url);
    oldest.ask("hello");
    await oldest.turn();
    for (let number = 2; number <= 20; number += 1) {
      const client = await connectLive(small.url);
      await small.live.waitForSession(number);
      client.session.close();
      await client.closed;
    }
    expect(small.live.sessions).toHaveLength(3);
    await expect(small.live.waitForSession(17)).rejects.toThrow(
      "Live session 17 is no longer kept: a scripted Gemini keeps the last 3 (maxRequests).",
    );
    expect((await small.live.waitForSession(18)).model).toBe(model);
    await Promise.all(small.live.sessions.map(({ closed }) => closed));
    expect(small.live.open).toBe(1);
    oldest.ask("bye");
    expect(said(await oldest.turn())).toBe("You said bye");
    small.reset();
    await expect(oldest.closed).resolves.toMatchObject({ code: 1006 });
    expect((await small.close(), small.live.open)).toBe(0);
  });

  it("keeps the last messages of a session, and its setup", async () => {
    gemini.reset(payRules);
    const client = await connect();
    for (let sent = 0; sent < 1100; sent += 1) client.session.sendRealtimeInput({ audioStreamEnd: true });
    client.ask("hello");
    await client.turn();
    const session = await gemini.live.waitForSession(1);
    expect(session.messages).toHaveLength(1000);
    expect(session.messages.at(-1)).toHaveProperty("clientContent");
    expect(session.setup).toMatchObject({ model: `models/${model}` });
  });

  it("forgets old handles", async () => {
    const own = await startScriptedGemini({ rules: payRules });
    const client = await connectLive(own.url, { sessionResumption: {} });
    for (let turn = 1; turn <= 101; turn += 1) {
      client.ask("hello");
      await client.turn();
    }
    const resume = async (handle: string) => {
      const { socket, inbox } = await connectRaw(own.url, { setup: false });
      socket.send(JSON.stringify({ setup: { model: "models/m", sessionResumption: { handle } } }));
      return inbox;
    };
    await expect((await resume("handle-1")).closed).resolves.toMatchObject({ code: 1008 });
    await (await resume("handle-3")).until(({ setupComplete }) => setupComplete !== undefined);
    await own.close();
  });
});

describe("over HTTP", () => {
  it("the pieces for live sessions are ignored", async () => {
    says(text("One "), goAway(), cancelCalls(), interrupted(), closeWith(1011, "no"), text("two"));
    const ai = new GoogleGenAI({ apiKey: "none", vertexai: false, httpOptions: { baseUrl: gemini.url } });
    const response = await ai.models.generateContent({ model, contents: "hi" });
    expect(response.text).toBe("One two");
    expect(gemini.requests[0]?.wire).toBe("http");
  });
});

describe("ADK's runLive", () => {
  it("runs a tool that the model calls, and gets the model's report of its result", async () => {
    gemini.reset([
      { when: /pay/, say: [text("One moment."), call("pay", { to: "A" })] },
      {
        when: (ask) => ask.responses.length > 0,
        say: (ask) => [text(`Done: ${String(ask.responses[0]?.response["ok"])}`)],
      },
    ]);
    const pay = new FunctionTool({
      name: "pay",
      description: "Pays.",
      parameters: z.object({ to: z.string() }),
      execute: ({ to }) => ({ ok: `paid ${to}` }),
    });
    const agent = new LlmAgent({
      name: "assistant",
      model: geminiAt({ model: "gemini-3.1-flash-live-test", url: gemini.url }),
      tools: [pay],
    });
    const sessionService = new InMemorySessionService();
    const runner = new Runner({ appName: "test", agent, sessionService });
    const { id: sessionId } = await sessionService.createSession({ appName: "test", userId: "someone" });
    const queue = new LiveRequestQueue();
    queue.sendContent({ role: "user", parts: [{ text: "pay" }] });
    const events: Event[] = [];
    for await (const event of runner.runLive({
      userId: "someone",
      sessionId,
      liveRequestQueue: queue,
      runConfig: { responseModalities: [Modality.TEXT] },
    })) {
      events.push(event);
      if (event.turnComplete === true) queue.close();
    }
    const parts = events.filter(({ partial }) => partial !== true).flatMap((event) => event.content?.parts ?? []);
    expect(parts).toMatchObject([
      { text: "One moment." },
      { functionCall: { name: "pay", args: { to: "A" } } },
      { functionResponse: { name: "pay", response: { ok: "paid A" } } },
      { text: "Done: paid A" },
    ]);
    expect(gemini.live.errors).toEqual([]);
    await gemini.live.sessions[0]?.closed;
    expect(gemini.live.open).toBe(0);
  });
});
