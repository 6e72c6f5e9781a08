import { describe, expect, it } from "vitest";
import { estimateTokens, piecesToSteps, type Step } from "./pieces-to-steps.ts";
import { blocked, call, drop, fail, finish, pause, text, thought, type Piece } from "./script.ts";

const envelope = { modelVersion: "m", responseId: "r", promptTokens: 10 };
const toSteps = (pieces: readonly Piece[], stream = true) => piecesToSteps(pieces, envelope, stream);
const until = Promise.resolve();

/** The parts of each chunk, and the kinds of the other steps. */
const contentOf = (steps: readonly Step[]) =>
  steps.map((step) => {
    if (step.kind !== "send") return step.kind;
    const [candidate] = step.response["candidates"] as [{ content?: { parts: unknown[] } }];
    return candidate.content?.parts ?? [];
  });

describe("the pieces of a response become", () => {
  it("one chunk for each word when streamed", () => {
    expect(contentOf(toSteps([thought("Hm."), text("Hello there.")]))).toEqual([
      [{ text: "Hm.", thought: true }],
      [{ text: "Hello " }],
      [{ text: "there." }],
    ]);
  });

  it("one chunk otherwise, after all waits", () => {
    expect(contentOf(toSteps([thought("Hm."), text("Hello "), pause(until), text("there.")], false))).toEqual([
      "wait",
      [{ text: "Hm.", thought: true }, { text: "Hello there." }],
    ]);
  });

  it("one chunk for calls that follow one another, and two with a pause between them", () => {
    const parts = [{ functionCall: { name: "a", args: {} } }, { functionCall: { name: "b", args: {} } }];
    expect(contentOf(toSteps([call("a"), call("b")]))).toEqual([parts]);
    expect(contentOf(toSteps([call("a"), pause(until), call("b")]))).toEqual([[parts[0]], "wait", [parts[1]]]);
  });

  it("an empty chunk where nothing is said or a pause comes last", () => {
    expect(contentOf(toSteps([]))).toEqual([[{ text: "" }]]);
    expect(contentOf(toSteps([text("Hi"), pause(until)]))).toEqual([[{ text: "Hi" }], "wait", [{ text: "" }]]);
    expect(contentOf(toSteps([finish("SAFETY")]))).toEqual([[]]);
  });

  it("nothing after the piece that ends them", () => {
    expect(contentOf(toSteps([text("Hi"), fail(500, "Broke."), text("never")]))).toEqual([[{ text: "Hi" }], "fail"]);
    expect(contentOf(toSteps([text("Hi"), drop(), text("never")], false))).toEqual(["drop"]);
    expect(toSteps([pause(until), blocked("SAFETY"), text("never")])).toMatchObject([
      { kind: "wait" },
      { kind: "send", response: { promptFeedback: { blockReason: "SAFETY" } } },
    ]);
  });

  it("chunks whose token counts grow, the last with the finish reason", () => {
    expect(toSteps([text("Hello there.")])).toMatchObject([
      { response: { usageMetadata: { candidatesTokenCount: 2, totalTokenCount: 12 }, responseId: "r" } },
      {
        response: {
          candidates: [{ finishReason: "STOP" }],
          usageMetadata: { candidatesTokenCount: 4, totalTokenCount: 14 },
        },
      },
    ]);
  });
});

it("four characters are about a token", () => {
  expect([estimateTokens({ text: "" }), estimateTokens({ text: "a" }), estimateTokens({ text: "abcde" })]).toEqual([
    0, 1, 2,
  ]);
});
