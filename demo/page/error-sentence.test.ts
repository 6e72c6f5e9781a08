import { BridgeError, errorTable } from "adk-stream-protocol/protocol";
import { expect, test } from "vitest";
import { errorSentence, isDisconnect, isRefusal, serverSentence } from "./error-sentence.ts";
import { strings } from "./strings.ts";

test("finds the server's sentence in its JSON", () => {
  expect(errorSentence(new Error('{"code":"too_many","message":"Wait a little."}'), strings.en)).toBe("Wait a little.");
  expect(errorSentence(new Error("The model is overloaded."), strings.en)).toBe("The model is overloaded.");
  expect(errorSentence(new Error("{}"), strings.en)).toBe("{}");
  expect(errorSentence(new Error("null"), strings.en)).toBe("null");
});

test("translates every code of the server", () => {
  for (const code of Object.keys(errorTable)) {
    const overHttp = new Error(JSON.stringify({ code, message: "No." }));
    expect(errorSentence(overHttp, strings.ja), code).toMatch(/[ぁ-ん].*。$/);
  }
  expect(errorSentence(new BridgeError("conflict", "Not now."), strings.en)).toBe("Not now.");
  expect(errorSentence(new BridgeError("conflict", "Not now."), strings.ja)).toMatch(/。$/);
});

test.each([
  ["The model is over its quota or rate limit (429): quota used up", /429.*quota used up/],
  ["The model returned an error (503): Overloaded $1", /503.*Overloaded \$1/],
  ["The model returned an error (unknown).", /unknown/],
  ["The model returned nothing. The prompt may have been blocked by its safety filters.", /応答/],
  ["The server stopped in the middle of this reply. Please send your message again.", /もう一度/],
  ["The server stopped in the middle of this reply.", /停止/],
  ["This chat was deleted.", /削除/],
  ["Something went wrong on the server. The details are in its log.", /サーバー/],
])("translates %j", (sentence, japanese) => {
  expect(serverSentence(sentence, strings.ja)).toMatch(japanese);
  expect(serverSentence(sentence, strings.ja)).toMatch(/[ぁ-ん]/);
  expect(serverSentence(sentence, strings.en)).toBe(sentence);
});

test("leaves a sentence alone that it does not know", () => {
  expect(serverSentence("The disk is full.", strings.ja)).toBe("The disk is full.");
});

test("knows that a refused message was not taken", () => {
  expect(isRefusal(new Error('{"code":"too_large","message":"No."}'))).toBe(true);
  expect(isRefusal(new BridgeError("too_many", "No."))).toBe(true);
  expect(isRefusal(new Error("The model is overloaded."))).toBe(false);
  expect(isRefusal(undefined)).toBe(false);
});

test("knows a lost connection by the browsers' own error messages", () => {
  expect(isDisconnect(new TypeError("Failed to fetch"))).toBe(true);
  expect(isDisconnect(new TypeError("network error"))).toBe(true);
  expect(isDisconnect(new TypeError("Load failed"))).toBe(true);
  expect(isDisconnect(new TypeError("x is not a function"))).toBe(false);
  expect(isDisconnect(new Error("network"))).toBe(false);
  expect(isDisconnect(undefined)).toBe(false);
});
