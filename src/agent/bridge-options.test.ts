import { LlmAgent } from "@google/adk";
import { describe, expect, it } from "vitest";
import { memoryStore } from "../stores/memory.ts";
import { checkOptions } from "./bridge-options.ts";

const agent = new LlmAgent({ name: "root_agent", model: "gemini-2.5-flash" });
const check = (options: Record<string, unknown>) => checkOptions({ agent, store: memoryStore(), ...options });

describe("the options of a bridge", () => {
  it("may be left out, all but the agent and the store", () => {
    expect(() => check({})).not.toThrow();
    expect(() => check({ agent: undefined })).toThrow("createBridge needs an agent");
    expect(() => check({ store: undefined })).toThrow("createBridge needs a store");
    expect(() => check({ store: "chats.db" })).toThrow("createBridge needs a store");
  });

  it("may be zero, and durations endless, where that makes sense", () => {
    expect(() =>
      check({
        approvalTtlMs: 0,
        startMs: Infinity,
        graceMs: 0,
        sweepMs: 0,
        drainMs: 0,
        maxPending: 0,
        live: { idleMs: 0 },
      }),
    ).not.toThrow();
  });

  it.each([
    [
      { approvalTtlMs: "60000" },
      'The option approvalTtlMs must be a number of milliseconds, 0 or more; it is "60000".',
    ],
    [{ startMs: -1 }, "The option startMs must be a number of milliseconds, 0 or more; it is -1."],
    [{ drainMs: "5s" }, 'The option drainMs must be a number of milliseconds, 0 or more; it is "5s".'],
    [{ leaseMs: NaN }, "The option leaseMs must be a number of milliseconds, greater than 0; it is NaN."],
    [{ leaseMs: 0 }, "The option leaseMs must be a number of milliseconds, greater than 0; it is 0."],
    [{ maxPending: 1.5 }, "The option maxPending must be a whole number, 0 or more; it is 1.5."],
    [{ maxLlmCalls: 0 }, "The option maxLlmCalls must be a whole number, greater than 0; it is 0."],
    [{ sweepMs: null }, "The option sweepMs must be a number of milliseconds, 0 or more; it is null."],
    [
      { live: { connectMs: "5" } },
      'The option live.connectMs must be a number of milliseconds, greater than 0; it is "5".',
    ],
  ])("are refused by name: %j", (options, sentence) => {
    expect(() => check(options)).toThrow(sentence);
  });
});
