import { createEvent } from "@google/adk";
import type { Part } from "@google/genai";
import { describe, expect, it } from "vitest";
import { CallLimit, excessError, markExcessCalls } from "./excess-calls.ts";

const newCalls = (count: number): Part[] =>
  Array.from({ length: count }, (_, index) => ({ functionCall: { name: "pay", id: `c${index}`, args: { index } } }));
const errorOf = ({ functionCall }: Part) => excessError(functionCall?.args ?? {})?.error;

describe("calls past the limit of a response", () => {
  it("are dropped, except the first, which says how many there were in all pieces", () => {
    const limit = new CallLimit(2);
    const kept = [...limit.keep(newCalls(1)), ...limit.keep(newCalls(3)), ...limit.keep(newCalls(1))];
    expect(kept).toHaveLength(3);
    expect(kept.map(errorOf)).toEqual([
      undefined,
      undefined,
      "One response may make at most 2 calls; this one made 5. This call and the 2 after it were not run. Call again in a later response.",
    ]);
  });

  it("may be only one, also without arguments", () => {
    const kept = new CallLimit(1).keep([...newCalls(1), { functionCall: { name: "pay" } }]);
    expect(kept.map(errorOf)).toEqual([
      undefined,
      "One response may make at most 1 calls; this one made 2. This call was not run. Call again in a later response.",
    ]);
  });

  it("stay in a live response, each with its error", () => {
    const parts = newCalls(3);
    markExcessCalls(createEvent({ content: { role: "model", parts } }), 1);
    const error =
      "One response may make at most 1 calls; this one made 3. This call was not run. Call again in a later response.";
    expect(parts.map(errorOf)).toEqual([undefined, error, error]);
  });
});
