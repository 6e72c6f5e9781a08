import { expect, test } from "vitest";
import { errorSentence, isDisconnect } from "./error-sentence.ts";

test("finds the server's sentence in its JSON", () => {
  expect(errorSentence(new Error('{"code":"too_many","message":"Wait a little."}'))).toBe("Wait a little.");
  expect(errorSentence(new Error("The model is overloaded."))).toBe("The model is overloaded.");
  expect(errorSentence(new Error("{}"))).toBe("{}");
});

test("knows a lost connection by the browsers' own error messages", () => {
  expect(isDisconnect(new TypeError("Failed to fetch"))).toBe(true);
  expect(isDisconnect(new TypeError("network error"))).toBe(true);
  expect(isDisconnect(new TypeError("Load failed"))).toBe(true);
  expect(isDisconnect(new TypeError("x is not a function"))).toBe(false);
  expect(isDisconnect(new Error("network"))).toBe(false);
  expect(isDisconnect(undefined)).toBe(false);
});
