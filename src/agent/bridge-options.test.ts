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
    [{ appName: "" }, "The option appName must be well-formed text that is not empty."],
    [{ appName: "a\ud800" }, "The option appName must be well-formed text that is not empty."],
    [{ appName: 7 }, "The option appName must be well-formed text that is not empty."],
    [
      { live: { connectMs: "5" } },
      'The option live.connectMs must be a number of milliseconds, greater than 0; it is "5".',
    ],
  ])("are refused by name: %j", (options, sentence) => {
    expect(() => check(options)).toThrow(sentence);
  });

  it("may be policies", () => {
    const lookup = async () => undefined;
    expect(() =>
      check({
        tools: {
          pay: {
            confirm: true,
            effect: "queryable",
            lookup,
            expiresMs: 0,
            startMs: 5,
            timeoutMs: 1,
            reportMs: Infinity,
          },
          read: { confirm: false, lookup },
          write: { effect: "queryable" },
          "odd name": {},
        },
        toolsets: { confirm: () => true, lookup },
        unlisted: "confirm",
      }),
    ).not.toThrow();
  });

  it.each<[Record<string, unknown>, string]>([
    [{ tools: [] }, "The option tools must be an object of policies; it is a list."],
    [{ tools: "pay" }, 'The option tools must be an object of policies; it is "pay".'],
    [{ tools: new Map() }, "The option tools must be an object of policies; it is an object."],
    [{ tools: null }, "The option tools must be an object of policies; it is null."],
    [{ tools: { pay: true } }, "The option tools.pay must be a policy, for example { confirm: true }; it is true."],
    [{ tools: { pay: { confirm: "yes" } } }, 'The option tools.pay.confirm must be true or a function; it is "yes".'],
    [{ tools: { pay: { confirm: null } } }, "The option tools.pay.confirm must be true or a function; it is null."],
    [{ tools: { pay: { confrim: true } } }, "The option tools.pay.confrim does not exist. A policy may have: confirm,"],
    [{ tools: { pay: { effect: "safe" } } }, "The option tools.pay.effect must be one of readonly, idempotent,"],
    [{ tools: { pay: { lookup: true } } }, "The option tools.pay.lookup must be a function; it is true."],
    [
      { tools: { pay: { effect: "queryable" } } },
      'The option tools.pay.effect is "queryable", so tools.pay.lookup must be a function.',
    ],
    [
      { tools: { pay: { timeoutMs: "5" } } },
      'The option tools.pay.timeoutMs must be a number of milliseconds, greater than 0; it is "5".',
    ],
    [
      { tools: { pay: { timeoutMs: 0 } } },
      "The option tools.pay.timeoutMs must be a number of milliseconds, greater than 0; it is 0.",
    ],
    [
      { tools: { pay: { expiresMs: NaN } } },
      "The option tools.pay.expiresMs must be a number of milliseconds, 0 or more; it is NaN.",
    ],
    [{ tools: { pay: { startMs: -1 } } }, "The option tools.pay.startMs must be a number of milliseconds, 0 or more"],
    [{ tools: { pay: { reportMs: 5n } } }, "The option tools.pay.reportMs must be a number of milliseconds, 0 or more"],
    [{ toolsets: true }, "The option toolsets must be a policy, for example { confirm: true }; it is true."],
    [{ toolsets: { fs: { confirm: true } } }, "The option toolsets.fs does not exist."],
    [{ toolsets: { effect: "queryable" } }, 'The option toolsets.effect is "queryable", so toolsets.lookup must be'],
    [{ unlisted: true }, 'The option unlisted must be "run" or "confirm"; it is true.'],
    [{ unlisted: "ask" }, 'The option unlisted must be "run" or "confirm"; it is "ask".'],
  ])("are refused by name, policies too: %o", (options, sentence) => {
    expect(() => check(options)).toThrow(sentence);
  });
});
