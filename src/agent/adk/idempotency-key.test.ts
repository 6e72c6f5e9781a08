import type { Context } from "@google/adk";
import { describe, expect, it } from "vitest";
import { callKey, idempotencyKey, setIdempotencyKey } from "./idempotency-key.ts";

const contextOf = (functionCallId?: string) =>
  ({ sessionId: "chat", invocationId: "run-1", functionCallId }) as unknown as Context;

describe("the idempotency key of a call", () => {
  it("is the one of its row", () => {
    const context = contextOf("c1");
    setIdempotencyKey(context, "apr_1");
    expect(idempotencyKey(context)).toBe("apr_1");
    expect(idempotencyKey(contextOf("c1"))).not.toBe("apr_1");
  });

  it("is the same for every attempt at a call without a row, and the row gets it later", () => {
    expect(idempotencyKey(contextOf("c1"))).toBe(idempotencyKey(contextOf("c1")));
    expect(idempotencyKey(contextOf("c1"))).toBe(callKey("chat", "c1"));
    expect(idempotencyKey(contextOf("c1"))).not.toBe(idempotencyKey(contextOf("c2")));
  });

  it("is the run's for a call without an id", () => {
    expect(idempotencyKey(contextOf())).toBe("chat:run-1");
  });
});
