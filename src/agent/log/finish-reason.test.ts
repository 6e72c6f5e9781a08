import { BlockedReason, FinishReason } from "@google/genai";
import { describe, expect, it } from "vitest";
import { isFinishReason, modelErrorText, refusalText, toFinishReason } from "./finish-reason.ts";

describe("a finish reason", () => {
  it.each([
    [FinishReason.STOP, "stop"],
    [FinishReason.MAX_TOKENS, "length"],
    [FinishReason.SAFETY, "content-filter"],
    [FinishReason.MALFORMED_FUNCTION_CALL, "error"],
    [FinishReason.OTHER, "other"],
    ["SOMETHING_NEW", "other"],
    ["constructor", "other"],
  ])("%s is %s in AI SDK's words", (reason, word) => {
    expect(toFinishReason(reason)).toBe(word);
  });

  it.each([...Object.values(FinishReason), ...Object.values(BlockedReason)])("%s of Gemini is known", (reason) => {
    expect(isFinishReason(reason)).toBe(true);
    // `other` is only for what Gemini itself calls so, so that a new reason is noticed here.
    if (toFinishReason(reason) === "other") expect(reason).toMatch(/OTHER$/);
  });

  it.each(["429", "UNKNOWN_ERROR", "constructor", ""])("is not the code %j, which is a failure", (code) => {
    expect(isFinishReason(code)).toBe(false);
  });
});

describe("the sentence about a response without content", () => {
  it("gives the reason and the message, if there are any", () => {
    expect(refusalText()).toMatch(/^The model returned nothing\. The prompt may have been blocked/);
    expect(refusalText("SAFETY")).toBe("The model returned nothing (SAFETY).");
    expect(refusalText("SAFETY", "Because.")).toBe("The model returned nothing (SAFETY): Because.");
  });
});

describe("the sentence about a model that failed", () => {
  it("gives the code and the message, and says what 429 means", () => {
    expect(modelErrorText("429", "Slow down.")).toBe("The model is over its quota or rate limit (429): Slow down.");
    expect(modelErrorText("500", undefined)).toBe("The model returned an error (500).");
    expect(modelErrorText(undefined, "Gone.")).toBe("The model returned an error (unknown): Gone.");
  });
});
