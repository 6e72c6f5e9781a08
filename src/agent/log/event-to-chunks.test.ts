import { createEvent, type Event } from "@google/adk";
import { BlockedReason, FinishReason, type GroundingMetadata, Language, Outcome, type Part } from "@google/genai";
import type { UIMessageChunk } from "ai";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { majors, validateOn } from "../../../test/fixtures/stock-chat.ts";
import {
  announceCall,
  type ChunkOptions,
  type ChunkState,
  closeStep,
  eventToChunks,
  initialChunkState,
  openStep,
  withUsage,
} from "./event-to-chunks.ts";
import { totalUsage } from "./usage.ts";

type EventFields = Partial<Event>;

const event = (fields: EventFields): Event => createEvent({ author: "agent", invocationId: "run-1", ...fields });
const said = (parts: Part[], fields: EventFields = {}): Event =>
  event({ content: { role: "model", parts }, ...fields });
const delta = (text: string, thought = false): Event =>
  said([thought ? { text, thought } : { text }], { partial: true });
const whole = (text: string, fields: EventFields = {}): Event => said([{ text }], { partial: false, ...fields });
const called = (...calls: [id: string, name: string, args?: Record<string, unknown>][]): Event =>
  said(
    calls.map(([id, name, args]) => ({ functionCall: { id, name, args } })),
    { partial: false, finishReason: FinishReason.STOP },
  );
const responded = (...responses: [id: string, name: string, response?: Record<string, unknown>][]): Event =>
  event({
    content: {
      role: "user",
      parts: responses.map(([id, name, response]) => ({ functionResponse: { id, name, response } })),
    },
  });

/** All chunks of some events, and the state behind them. */
function play(
  events: readonly Event[],
  options?: ChunkOptions | ((index: number) => ChunkOptions),
): [ChunkState, UIMessageChunk[]] {
  let state = initialChunkState;
  const chunks: UIMessageChunk[] = [];
  events.forEach((item, index) => {
    const [next, more] = eventToChunks(state, item, typeof options === "function" ? options(index) : options);
    state = next;
    chunks.push(...more);
  });
  return [state, chunks];
}
const chunksOf = (events: readonly Event[], options?: ChunkOptions): UIMessageChunk[] => play(events, options)[1];
const stateOf = (events: readonly Event[]): ChunkState => play(events)[0];

describe("text", () => {
  it("is streamed as it comes, and its repetition closes it", () => {
    expect(
      chunksOf([delta("Hello "), delta("there."), whole("Hello there.", { finishReason: FinishReason.STOP })]),
    ).toEqual([
      { type: "start-step" },
      { type: "text-start", id: "text-1" },
      { type: "text-delta", id: "text-1", delta: "Hello " },
      { type: "text-delta", id: "text-1", delta: "there." },
      { type: "text-end", id: "text-1" },
      { type: "finish-step" },
    ]);
  });

  it("that comes whole without having been streamed is shown whole", () => {
    expect(chunksOf([said([{ text: "Hello." }], { finishReason: FinishReason.STOP })])).toEqual([
      { type: "start-step" },
      { type: "text-start", id: "text-1" },
      { type: "text-delta", id: "text-1", delta: "Hello." },
      { type: "text-end", id: "text-1" },
      { type: "finish-step" },
    ]);
  });

  it("that was streamed in part is completed by the whole", () => {
    const chunks = chunksOf([delta("Hello"), whole("Hello there.")]);
    expect(deltas(chunks)).toEqual(["Hello", " there."]);
  });

  it("that is repeated in several parts is not shown twice", () => {
    const chunks = chunksOf([
      delta("Hello "),
      delta("there."),
      said([{ text: "Hello " }, { text: "there." }], { partial: false }),
    ]);
    expect(deltas(chunks)).toEqual(["Hello ", "there."]);
  });

  it("that the whole replaces is shown behind what was streamed: nothing that was said is lost", () => {
    expect(deltas(chunksOf([delta("Hello"), whole("Something else.")]))).toEqual(["Hello", "Something else."]);
  });

  it("said twice in a row is shown twice", () => {
    const once = [delta("Yes."), whole("Yes.", { finishReason: FinishReason.STOP })];
    expect(deltas(chunksOf([...once, ...once]))).toEqual(["Yes.", "Yes."]);
  });

  it("that is empty opens nothing", () => {
    expect(chunksOf([delta(""), whole("")])).toEqual([]);
  });

  it("of the next model call has a step and an id of its own", () => {
    const chunks = chunksOf([
      whole("One.", { finishReason: FinishReason.STOP }),
      whole("Two.", { finishReason: FinishReason.STOP }),
    ]);
    expect(chunks.map(({ type }) => type)).toEqual([...textStep, ...textStep]);
    expect(new Set(chunks.flatMap((chunk) => (chunk.type === "text-start" ? [chunk.id] : []))).size).toBe(2);
  });
});

describe("thoughts", () => {
  it("are reasoning, closed before the text begins", () => {
    expect(
      chunksOf([
        delta("Hm. ", true),
        delta("Well.", true),
        delta("Yes."),
        said([{ text: "Hm. Well.", thought: true }, { text: "Yes." }], { partial: false }),
      ]),
    ).toEqual([
      { type: "start-step" },
      { type: "reasoning-start", id: "reasoning-1" },
      { type: "reasoning-delta", id: "reasoning-1", delta: "Hm. " },
      { type: "reasoning-delta", id: "reasoning-1", delta: "Well." },
      { type: "reasoning-end", id: "reasoning-1" },
      { type: "text-start", id: "text-2" },
      { type: "text-delta", id: "text-2", delta: "Yes." },
      { type: "text-end", id: "text-2" },
    ]);
  });

  it("between two texts are not mixed up by the repetition, which has them in another order", () => {
    const repeated = said([{ text: "Hm. Well.", thought: true }, { text: "One. Two." }], { partial: false });
    const chunks = chunksOf([delta("Hm. ", true), delta("One. "), delta("Well.", true), delta("Two."), repeated]);
    expect(deltas(chunks)).toEqual(["Hm. ", "One. ", "Well.", "Two."]);
  });

  it("come whole where nothing was streamed", () => {
    const chunks = chunksOf([said([{ text: "Hm.", thought: true }, { text: "Yes." }])]);
    expect(chunks.map(({ type }) => type)).toEqual([
      "start-step",
      "reasoning-start",
      "reasoning-delta",
      "reasoning-end",
      "text-start",
      "text-delta",
      "text-end",
    ]);
  });

  it("in pictures are left out", () => {
    expect(chunksOf([said([{ inlineData: { mimeType: "image/png", data: "AAAA" }, thought: true }])])).toEqual([]);
  });
});

describe("calls", () => {
  it("are announced one by one in the step, and their results end it", () => {
    const chunks = chunksOf([
      called(["c1", "get_weather", { location: "Tokyo" }], ["c2", "get_time"]),
      responded(["c1", "get_weather", { temperature: 21 }], ["c2", "get_time", { time: "noon" }]),
    ]);
    expect(chunks).toEqual([
      { type: "start-step" },
      { type: "tool-input-start", toolCallId: "c1", toolName: "get_weather" },
      { type: "tool-input-available", toolCallId: "c1", toolName: "get_weather", input: { location: "Tokyo" } },
      { type: "tool-input-start", toolCallId: "c2", toolName: "get_time" },
      { type: "tool-input-available", toolCallId: "c2", toolName: "get_time", input: {} },
      { type: "tool-output-available", toolCallId: "c1", output: { temperature: 21 } },
      { type: "tool-output-available", toolCallId: "c2", output: { time: "noon" } },
      { type: "finish-step" },
    ]);
  });

  it("close the text before them", () => {
    const chunks = chunksOf([delta("Let me look."), whole("Let me look."), called(["c1", "get_weather"])]);
    expect(chunks.map(({ type }) => type)).toEqual([
      "start-step",
      "text-start",
      "text-delta",
      "text-end",
      "tool-input-start",
      "tool-input-available",
    ]);
  });

  it("close text that was never repeated", () => {
    const chunks = chunksOf([delta("Let me look."), called(["c1", "get_weather"])]);
    expect(chunks.map(({ type }) => type)).toEqual([
      "start-step",
      "text-start",
      "text-delta",
      "text-end",
      "tool-input-start",
      "tool-input-available",
    ]);
  });

  it("of one event come after its text", () => {
    const chunks = chunksOf([
      said([{ text: "Let me look." }, { functionCall: { id: "c1", name: "get_weather" } }], {
        finishReason: FinishReason.STOP,
      }),
    ]);
    expect(chunks.map(({ type }) => type)).toEqual([
      "start-step",
      "text-start",
      "text-delta",
      "text-end",
      "tool-input-start",
      "tool-input-available",
    ]);
  });

  it("in partial events wait for the whole one", () => {
    expect(chunksOf([said([{ functionCall: { id: "c1", name: "get_weather" } }], { partial: true })])).toEqual([]);
  });

  it("are followed by a step of their own for what the model says next", () => {
    const chunks = chunksOf([
      called(["c1", "get_weather"]),
      responded(["c1", "get_weather", {}]),
      delta("Sunny."),
      whole("Sunny.", { finishReason: FinishReason.STOP }),
    ]);
    expect(chunks.map(({ type }) => type)).toEqual([
      "start-step",
      "tool-input-start",
      "tool-input-available",
      "tool-output-available",
      "finish-step",
      ...textStep,
    ]);
  });

  it.each([
    ["only an error", { error: "no luck" }, true],
    ["an error of the ledger", { error: "no luck", status: "failed" }, true],
    ["an error among other things", { error: "no luck", retries: 3 }, false],
    ["an error that is no text", { error: { code: 5 } }, false],
    ["nothing", undefined, false],
  ])("with %s as their result have failed or not", (_, response, hasFailed) => {
    const chunk = chunksOf([called(["c1", "try_it"]), responded(["c1", "try_it", response])]).at(-2);
    if (hasFailed) expect(chunk).toEqual({ type: "tool-output-error", toolCallId: "c1", errorText: "no luck" });
    else expect(chunk).toEqual({ type: "tool-output-available", toolCallId: "c1", output: response ?? {} });
  });

  it("of ADK's own are not shown, nor their results", () => {
    const chunks = chunksOf([
      called(["c1", "adk_request_confirmation"]),
      responded(["c1", "adk_request_confirmation", { confirmed: true }]),
    ]);
    expect(chunks).toEqual([]);
  });

  it("that were held end the step without a result, and the free ones beside them have theirs", () => {
    const kept = [{ functionResponse: { id: "c1", name: "get_weather", response: { temperature: 21 } } }];
    const chunks = chunksOf([called(["c1", "get_weather"], ["c2", "pay"]), event({ customMetadata: { kept } })]);
    expect(chunks.slice(-2)).toEqual([
      { type: "tool-output-available", toolCallId: "c1", output: { temperature: 21 } },
      { type: "finish-step" },
    ]);
    const none = chunksOf([called(["c2", "pay"]), event({ customMetadata: { kept: [] } })]);
    expect(none.at(-1)).toEqual({ type: "finish-step" });
  });
});

describe("calls that are kept back", () => {
  const defer = (name: string) => name === "helper";

  it("appear with their result", () => {
    const events = [
      called(["c1", "helper", { request: "Hi." }], ["c2", "get_time"]),
      responded(["c1", "helper", { result: "Hello." }], ["c2", "get_time", {}]),
    ];
    expect(chunksOf(events, { defer })).toEqual([
      { type: "start-step" },
      { type: "tool-input-start", toolCallId: "c2", toolName: "get_time" },
      { type: "tool-input-available", toolCallId: "c2", toolName: "get_time", input: {} },
      { type: "tool-input-start", toolCallId: "c1", toolName: "helper" },
      { type: "tool-input-available", toolCallId: "c1", toolName: "helper", input: { request: "Hi." } },
      { type: "tool-output-available", toolCallId: "c1", output: { result: "Hello." } },
      { type: "tool-output-available", toolCallId: "c2", output: {} },
      { type: "finish-step" },
    ]);
  });

  it("can be announced, once", () => {
    const [state] = play([called(["c1", "helper"])], { defer });
    const [announced, chunks] = announceCall(state, "c1");
    expect(chunks.map(({ type }) => type)).toEqual(["start-step", "tool-input-start", "tool-input-available"]);
    expect(announceCall(announced, "c1")[1]).toEqual([]);
    expect(announceCall(announced, "c9")[1]).toEqual([]);
  });
});

describe("an agent run as a tool", () => {
  const inner = (index: number): ChunkOptions =>
    index > 0 && index < 4 ? { inner: true } : { defer: (name) => name === "helper" };

  it("shows its calls in its caller's step and keeps its words to itself", () => {
    const [, chunks] = play(
      [
        called(["c1", "helper"]),
        called(["c2", "get_weather"]),
        responded(["c2", "get_weather", {}]),
        whole("Sunny.", { finishReason: FinishReason.STOP }),
        responded(["c1", "helper", { result: "Sunny." }]),
      ],
      inner,
    );
    expect(chunks.map((chunk) => ("toolCallId" in chunk ? `${chunk.type} ${chunk.toolCallId}` : chunk.type))).toEqual([
      "start-step",
      "tool-input-start c2",
      "tool-input-available c2",
      "tool-output-available c2",
      "tool-input-start c1",
      "tool-input-available c1",
      "tool-output-available c1",
      "finish-step",
    ]);
  });

  it("keeps its ending, its errors and its sources to itself", () => {
    const groundingMetadata = { groundingChunks: [{ web: { uri: "https://example.com" } }] };
    const [state, chunks] = play(
      [
        event({ errorCode: "429", errorMessage: "Slow down." }),
        whole("Cut", { finishReason: FinishReason.MAX_TOKENS, groundingMetadata }),
      ],
      { inner: true },
    );
    expect(chunks).toEqual([]);
    expect(state).toMatchObject({ finishReason: "stop", shown: false });
    expect(state.error).toBeUndefined();
  });
});

describe("other parts", () => {
  const parts: [string, Part, UIMessageChunk][] = [
    [
      "bytes",
      { inlineData: { mimeType: "image/png", data: "AAAA" } },
      { type: "file", mediaType: "image/png", url: "data:image/png;base64,AAAA" },
    ],
    [
      "bytes without a type",
      { inlineData: { data: "AAAA" } },
      { type: "file", mediaType: "application/octet-stream", url: "data:application/octet-stream;base64,AAAA" },
    ],
    [
      "a file",
      { fileData: { fileUri: "gs://bucket/a.pdf", mimeType: "application/pdf" } },
      { type: "file", mediaType: "application/pdf", url: "gs://bucket/a.pdf" },
    ],
    [
      "code",
      { executableCode: { language: Language.PYTHON, code: "1 + 1" } },
      { type: "data-executable-code", data: { language: "PYTHON", code: "1 + 1" } },
    ],
    [
      "what code printed",
      { codeExecutionResult: { outcome: Outcome.OUTCOME_OK, output: "2" } },
      { type: "data-code-execution-result", data: { outcome: "OUTCOME_OK", output: "2" } },
    ],
  ];
  it.each(parts)("%s become a chunk in the step", (_, part, chunk) => {
    expect(chunksOf([said([part])])).toEqual([{ type: "start-step" }, chunk]);
  });

  it("close the text before them, which goes on behind them", () => {
    const chunks = chunksOf([delta("See: "), whole("See: "), said([parts[0]![1]]), delta("Nice."), whole("Nice.")]);
    expect(chunks.map(({ type }) => type)).toEqual([
      "start-step",
      "text-start",
      "text-delta",
      "text-end",
      "file",
      "text-start",
      "text-delta",
      "text-end",
    ]);
  });

  it("that nobody knows show nothing", () => {
    expect(
      chunksOf([said([{ videoMetadata: { fps: 1 } }, { inlineData: { mimeType: "image/png" } }, { fileData: {} }])]),
    ).toEqual([]);
  });
});

describe("sources", () => {
  const web = { web: { uri: "https://example.com/a", title: "A" } };

  it("come after the text that names them, from grounding and citations", () => {
    const citationMetadata = { citations: [{ uri: "https://example.com/b" }] };
    const chunks = chunksOf([whole("Yes.", { groundingMetadata: { groundingChunks: [web] }, citationMetadata })]);
    expect(chunks.slice(4)).toEqual([
      { type: "source-url", sourceId: "https://example.com/a", url: "https://example.com/a", title: "A" },
      { type: "source-url", sourceId: "https://example.com/b", url: "https://example.com/b" },
    ]);
  });

  it("are shown once, however often they are named", () => {
    const groundingMetadata = { groundingChunks: [web, web] };
    const citationMetadata = { citations: [{ uri: "https://example.com/a" }] };
    const chunks = chunksOf([
      said([{ text: "Yes." }], { partial: true, groundingMetadata }),
      whole("Yes.", { groundingMetadata, citationMetadata }),
      whole("Again.", { groundingMetadata }),
    ]);
    expect(chunks.filter(({ type }) => type === "source-url")).toHaveLength(1);
  });
});

describe("the ending", () => {
  it.each(Object.values(FinishReason))("%s of Gemini has a word of AI SDK's", (reason) => {
    const { finishReason, error } = stateOf([
      whole("So", { finishReason: reason, errorCode: reason === FinishReason.STOP ? undefined : reason }),
    ]);
    expect(error).toBeUndefined();
    // `other` stands for what Gemini itself calls so; any other reason must have been looked at.
    if (finishReason === "other") expect(reason).toMatch(/OTHER$/);
    expect(["stop", "length", "content-filter", "error", "other"]).toContain(finishReason);
  });

  it.each([
    [FinishReason.STOP, "stop"],
    [FinishReason.MAX_TOKENS, "length"],
    [FinishReason.SAFETY, "content-filter"],
    [FinishReason.MALFORMED_FUNCTION_CALL, "error"],
    [FinishReason.OTHER, "other"],
    ["SOMETHING_NEW" as FinishReason, "other"],
    ["constructor" as FinishReason, "other"],
  ])("%s is %s", (reason, word) => {
    expect(stateOf([whole("So", { finishReason: reason })]).finishReason).toBe(word);
  });

  it("is that of the last model call", () => {
    expect(
      stateOf([called(["c1", "a"]), responded(["c1", "a"]), whole("So", { finishReason: FinishReason.MAX_TOKENS })])
        .finishReason,
    ).toBe("length");
  });

  it.each([
    ["429", "Slow down.", "The model is over its quota or rate limit (429): Slow down."],
    ["500", undefined, "The model returned an error (500)."],
    ["UNKNOWN_ERROR", "terminated", "The model returned an error (UNKNOWN_ERROR): terminated"],
    ["constructor", "odd", "The model returned an error (constructor): odd"],
  ])("by error %s is an error", (errorCode, errorMessage, text) => {
    expect(stateOf([event({ errorCode, errorMessage })])).toMatchObject({ error: text, shown: true });
  });

  it("of a reply cut short by a filter is no error", () => {
    const state = stateOf([
      delta("I would"),
      whole("I would", { finishReason: FinishReason.SAFETY, errorCode: "SAFETY", errorMessage: "Blocked." }),
    ]);
    expect(state.finishReason).toBe("content-filter");
    expect(state.error).toBeUndefined();
  });

  it("without a word is a refusal, also after a tool's result", () => {
    const counted = event({ usageMetadata: { promptTokenCount: 9 } });
    const refused = /^The model returned nothing\. The prompt may have been blocked/;
    expect(stateOf([counted]).error).toMatch(refused);
    expect(stateOf([called(["c1", "a"]), responded(["c1", "a"]), counted]).error).toMatch(refused);
  });

  it.each([...Object.values(BlockedReason), FinishReason.MALFORMED_FUNCTION_CALL])(
    "without a word and with reason %s says so",
    (errorCode) => {
      expect(stateOf([event({ errorCode, errorMessage: "Because." })]).error).toBe(
        `The model returned nothing (${errorCode}): Because.`,
      );
    },
  );

  it("without a word after all is said is none: Gemini may stop so after a tool", () => {
    const stopped = event({ finishReason: FinishReason.STOP, usageMetadata: { promptTokenCount: 9 } });
    expect(stateOf([called(["c1", "a"]), responded(["c1", "a"]), stopped]).error).toBeUndefined();
    expect(stateOf([whole("Yes."), stopped]).error).toBeUndefined();
    const picture = said([{ inlineData: { mimeType: "image/png", data: "AAAA" } }]);
    expect(stateOf([picture, event({ finishReason: FinishReason.OTHER, errorCode: "OTHER" })]).error).toBeUndefined();
  });
});

describe("usage", () => {
  const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 1 };

  it("of an agent run as a tool is counted with its caller's", () => {
    const [state] = play(
      [
        { ...called(["c1", "helper"]), usageMetadata },
        whole("Hi.", { invocationId: "run-2", author: "helper", usageMetadata }),
      ],
      (index) => ({ inner: index === 1 }),
    );
    expect(totalUsage(state.usage)).toMatchObject({ inputTokens: 20, outputTokens: 2 });
  });

  it("is counted without anything being shown", () => {
    const state = withUsage(initialChunkState, event({ usageMetadata }));
    expect(totalUsage(state.usage)).toMatchObject({ inputTokens: 10, outputTokens: 1 });
    expect({ ...state, usage: initialChunkState.usage }).toEqual(initialChunkState);
  });
});

describe("steps", () => {
  it("are opened and closed once", () => {
    const [opened, start] = openStep(initialChunkState);
    expect(start).toEqual([{ type: "start-step" }]);
    expect(openStep(opened)).toEqual([opened, []]);
    const [closed, end] = closeStep(opened);
    expect(end).toEqual([{ type: "finish-step" }]);
    expect(closeStep(closed)).toEqual([closed, []]);
  });

  it("close what is open in them first", () => {
    const [state] = play([delta("Hel")]);
    expect(closeStep(state)[1]).toEqual([{ type: "text-end", id: "text-1" }, { type: "finish-step" }]);
  });
});

describe("whatever ADK sends", () => {
  const word = fc.constantFrom("Hello ", "there. ", "Yes.", "はい。", "\u0000", "");
  const usageMetadata = fc.option(
    fc.record({ promptTokenCount: fc.nat(99), candidatesTokenCount: fc.nat(99), totalTokenCount: fc.nat(99) }),
    { nil: undefined },
  );
  const finishReason = fc.option(fc.constantFrom(...Object.values(FinishReason)), { nil: undefined });
  const sources = fc.option(
    fc.constantFrom<GroundingMetadata>(
      { groundingChunks: [{ web: { uri: "https://example.com/a" } }] },
      { groundingChunks: [{ retrievedContext: { title: "Doc" } }] },
    ),
    { nil: undefined },
  );
  const media = fc.constantFrom<Part>(
    { inlineData: { mimeType: "image/png", data: "AAAA" } },
    { fileData: { fileUri: "gs://bucket/a.pdf" } },
    { executableCode: { language: Language.PYTHON, code: "1 + 1" } },
    { codeExecutionResult: { outcome: Outcome.OUTCOME_OK, output: "2" } },
    { text: "Hm.", thought: true },
    { text: "" },
  );
  /** One model call: what it streams, whether it is repeated, what it calls, and how its calls are answered. */
  const modelCall = fc.record({
    streamed: fc.array(fc.tuple(word, fc.boolean()), { maxLength: 4 }),
    repeats: fc.boolean(),
    media: fc.array(media, { maxLength: 2 }),
    calls: fc.array(fc.constantFrom("get_weather", "pay", "helper", "adk_request_input"), { maxLength: 3 }),
    answered: fc.constantFrom("all", "held", "some", "never"),
    inner: fc.boolean(),
    usageMetadata,
    finishReason,
    groundingMetadata: sources,
    trailing: fc.boolean(),
    errorCode: fc.option(fc.constantFrom("429", "SAFETY", "UNKNOWN_ERROR"), { nil: undefined }),
  });

  type ModelCall = typeof modelCall extends fc.Arbitrary<infer T> ? T : never;

  function toEvents(round: ModelCall, number: number): { item: Event; inner: boolean }[] {
    const { streamed, repeats, calls, answered, inner } = round;
    const ids = calls.map((name, index) => [`c${number}-${index}`, name] as const);
    const results = ids.filter((_, index) => answered === "all" || (answered === "some" && index % 2 === 0));
    const responses = results.map(([id, name]) => ({
      functionResponse: { id, name, response: number % 2 ? { ok: true } : { error: "no luck" } },
    }));
    const thoughts = streamed.flatMap(([text, thought]) => (thought ? [text] : [])).join("");
    const text = streamed.flatMap(([words, thought]) => (thought ? [] : [words])).join("");
    const events = [
      ...streamed.map(([words, thought]) => delta(words, thought)),
      ...(repeats
        ? [said([{ text: thoughts, thought: true }, { text }], { partial: false, usageMetadata: round.usageMetadata })]
        : []),
      ...round.media.map((part) => said([part], { partial: false })),
      ...(ids.length > 0 ? [called(...ids.map(([id, name]): [string, string] => [id, name]))] : []),
      ...(ids.length > 0 && answered !== "never"
        ? [
            answered === "all"
              ? event({ content: { role: "user", parts: responses } })
              : event({ customMetadata: { kept: responses } }),
          ]
        : []),
      ...(round.trailing
        ? [
            event({
              usageMetadata: round.usageMetadata,
              finishReason: round.finishReason,
              groundingMetadata: round.groundingMetadata,
              errorCode: round.errorCode,
            }),
          ]
        : []),
    ];
    return events.map((item) => ({ item, inner }));
  }

  it("both majors can read it, and every part is closed before its step", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(modelCall, { maxLength: 5 }), async (rounds) => {
        let state = initialChunkState;
        const chunks: UIMessageChunk[] = [{ type: "start", messageId: "m1" }];
        for (const { item, inner } of rounds.flatMap(toEvents)) {
          const [next, more] = eventToChunks(state, item, { inner, defer: (name) => name === "helper" });
          state = next;
          chunks.push(...more);
        }
        chunks.push(...closeStep(state)[1], { type: "finish" });
        expectClosed(chunks);
        for (const [, ai] of majors) await validateOn(ai, chunks);
      }),
      { numRuns: 200 },
    );
  }, 30_000);
});

const textStep = ["start-step", "text-start", "text-delta", "text-end", "finish-step"];

const deltas = (chunks: readonly UIMessageChunk[]): string[] =>
  chunks.flatMap((chunk) => (chunk.type === "text-delta" || chunk.type === "reasoning-delta" ? [chunk.delta] : []));

/** Steps do not nest, parts live inside one, and nothing is open at its end. */
function expectClosed(chunks: readonly UIMessageChunk[]): void {
  let inStep = false;
  const open = new Set<string>();
  const ids = new Set<string>();
  for (const chunk of chunks) {
    if (chunk.type === "start-step") {
      expect(inStep).toBe(false);
      inStep = true;
    } else if (chunk.type === "finish-step") {
      expect(inStep).toBe(true);
      expect([...open]).toEqual([]);
      inStep = false;
    } else if (chunk.type !== "start" && chunk.type !== "finish")
      expect(inStep, `${chunk.type} outside a step`).toBe(true);
    if (chunk.type === "text-start" || chunk.type === "reasoning-start") {
      expect(ids.has(chunk.id), `${chunk.id} twice`).toBe(false);
      ids.add(chunk.id);
      open.add(chunk.id);
    } else if (chunk.type === "text-end" || chunk.type === "reasoning-end") open.delete(chunk.id);
  }
  expect(inStep).toBe(false);
}
