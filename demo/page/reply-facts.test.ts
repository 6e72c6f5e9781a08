import { expect, test } from "vitest";
import { readReplyFacts } from "./reply-facts.ts";

test.each<[unknown, unknown]>([
  [
    { modelVersion: "gemini-2.5-flash", usage: { inputTokens: 20, outputTokens: 10 } },
    { model: "gemini-2.5-flash", inputTokens: 20, outputTokens: 10 },
  ],
  [{ modelVersion: "gemini-2.5-flash" }, { model: "gemini-2.5-flash", inputTokens: 0, outputTokens: 0 }],
  [{ usage: { inputTokens: "20", outputTokens: -1 } }, undefined],
  [{ modelVersion: 7, usage: 7 }, undefined],
  [null, undefined],
  [undefined, undefined],
])("%j is %j", (metadata, facts) => {
  expect(readReplyFacts(metadata)).toEqual(facts);
});
