import { describe, expect, it } from "vitest";
import { piecesToLiveSteps } from "./pieces-to-live-steps.ts";
import { blocked, call, cancelCalls, closeWith, drop, fail, finish, goAway, interrupted } from "./script.ts";
import { pause, text, usage, type Piece } from "./script.ts";

const toSteps = (...pieces: Piece[]) => piecesToLiveSteps(pieces, 10);
const kinds = (...pieces: Piece[]) => toSteps(...pieces).map(({ kind }) => kind);

describe("the pieces of a live response become", () => {
  it("words, and the end of the turn with the token counts", () => {
    expect(toSteps(text("Hello there."))).toEqual([
      { kind: "say", part: { text: "Hello " } },
      { kind: "say", part: { text: "there." } },
      { kind: "end", closing: {}, usage: { promptTokenCount: 10, responseTokenCount: 4, totalTokenCount: 14 } },
    ]);
  });

  it("calls, the last of them with the token counts", () => {
    const steps = toSteps(call("a"), call("b"), pause(Promise.resolve()), call("c"));
    expect(steps).toMatchObject([
      { kind: "call", calls: [{ name: "a" }, { name: "b" }], usage: undefined },
      { kind: "wait" },
      { kind: "call", calls: [{ name: "c" }], usage: { promptTokenCount: 10 } },
      { kind: "end" },
    ]);
  });

  it("steps that do not end the response, in their place", () => {
    expect(kinds(text("a"), goAway(), text("b"), cancelCalls(), text("c"))).toEqual([
      "say",
      "goAway",
      "say",
      "cancelCalls",
      "say",
      "end",
    ]);
  });

  it.each([
    ["drop", drop(), { kind: "drop" }],
    ["interrupted", interrupted(), { kind: "interrupted" }],
    ["closeWith", closeWith(1011, "Bye."), { kind: "close", code: 1011, reason: "Bye." }],
    ["fail with a fault of the server", fail(500, "Broke."), { kind: "close", code: 1011, reason: "Broke." }],
    ["fail with an exceeded quota", fail(429, "Quota."), { kind: "close", code: 1011, reason: "Quota." }],
    ["fail with a fault of the request", fail(400, "Bad."), { kind: "close", code: 1008, reason: "Bad." }],
    ["blocked", blocked("BLOCKLIST"), { kind: "end", closing: { turnCompleteReason: "BLOCKLIST" } }],
  ])("nothing after %s", (_, piece, last) => {
    expect(toSteps(text("a"), piece, text("never"))).toMatchObject([{ kind: "say" }, last]);
  });

  it("the reason of the end, where the Live API has a name for it, and the counts of the script", () => {
    expect(toSteps(finish("SAFETY"), usage({ candidatesTokenCount: 8 }))).toMatchObject([
      { closing: { turnCompleteReason: "GENERATED_CONTENT_SAFETY" }, usage: { responseTokenCount: 8 } },
    ]);
    expect(toSteps(finish("MAX_TOKENS"))).toMatchObject([{ closing: {} }]);
  });
});
