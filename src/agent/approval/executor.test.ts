import {
  AgentTool,
  type BaseTool,
  FunctionTool,
  LlmAgent,
  LogLevel,
  LongRunningFunctionTool,
  setLogLevel,
} from "@google/adk";
import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import type { EffectClass } from "../../protocol/index.ts";
import type { Approval, NewApproval } from "../../stores/index.ts";
import { memoryStore } from "../../stores/memory.ts";
import { GatePlugin } from "../adk/gate-plugin.ts";
import { idempotencyKey } from "../adk/idempotency-key.ts";
import { Runners } from "../adk/runners.ts";
import { StoreSessionService } from "../adk/session-service.ts";
import { ToolCalls } from "../adk/tool-calls.ts";
import { Toolsets } from "../adk/toolsets.ts";
import { silentLogger } from "../support/index.ts";
import { Executor } from "./executor.ts";
import { holdCalls } from "./hold-calls.ts";
import { Policies } from "./policies.ts";
import type { ToolPolicy } from "./policy.ts";

setLogLevel(LogLevel.ERROR);
afterEach(() => {
  vi.useRealTimers();
});

interface Setting {
  tools?: (ran: string[]) => BaseTool[];
  policy?: ToolPolicy;
}

/** An executor over a store that holds one chat, and a tool that notes the key of every attempt. */
async function open({ tools, policy = {} }: Setting = {}) {
  const clock = { now: 1_800_000_000_000 };
  const store = memoryStore({ now: () => clock.now });
  const ran: string[] = [];
  const agent = new LlmAgent({ name: "root_agent", model: "gemini-2.5-flash", tools: tools?.(ran) ?? [payTool(ran)] });
  const logger = silentLogger;
  const policies = new Policies({ tools: { pay: policy }, inventory: new Toolsets({ agent, logger }), logger });
  const holder = holdCalls({ store, policies, logger, approvalTtlMs: 1000, startMs: 1000, maxPending: 9 });
  const gate = new GatePlugin({ holder, logger });
  const sessions = new StoreSessionService(store);
  const runners = new Runners({ agent, appName: "app", store, sessions, plugins: [gate] });
  const toolCalls = new ToolCalls({ runners, gate, store, logger });
  const chat = await store.openChat({ owner: "me", name: "chat", appName: "app" });
  const newExecutor = () => new Executor({ store, calls: toolCalls, policies, leaseMs: 9000, logger });
  let calls = 0;
  /** A call that a person has approved. */
  async function approved(fields: Partial<NewApproval> = {}): Promise<Approval> {
    calls += 1;
    const row: NewApproval = {
      id: `apr_${calls}`,
      chat: chat.id,
      session: chat.id,
      owner: "me",
      toolCallId: `call-${calls}`,
      toolName: "pay",
      input: '{"amount":5}',
      digest: "digest",
      messageId: "msg_1",
      agent: "root_agent",
      mode: "request",
      external: false,
      effect: "opaque",
      gated: true,
      state: "pending",
      ttlMs: 60_000,
      startMs: 60_000,
      ...fields,
    };
    const made = await store.createApproval(row);
    return (await store.move(made.id, { event: "approve", by: "me" })).approval!;
  }
  /** The same, claimed by a process that died, whose lease has run out. */
  async function abandoned(fields: Partial<NewApproval> = {}): Promise<Approval> {
    const { id } = await approved(fields);
    await store.move(id, { event: "claim", leaseOwner: "dead", leaseMs: 1000 });
    clock.now += 1000;
    return (await store.getApproval(id))!;
  }
  return { clock, store, ran, agent, chat, newExecutor, executor: newExecutor(), approved, abandoned };
}

function payTool(ran: string[], result: unknown = { paid: 5 }): BaseTool {
  return new FunctionTool({
    name: "pay",
    description: "Pays.",
    requireConfirmation: true,
    parameters: z.object({ amount: z.number() }),
    execute: async (_, context) => {
      ran.push(idempotencyKey(context!));
      return result;
    },
  });
}

describe("an approved call", () => {
  it("is claimed, run and recorded", async () => {
    const { executor, approved, ran } = await open();
    const row = await executor.execute(await approved());
    expect(row).toMatchObject({ state: "succeeded", outcome: { paid: 5 }, fence: 1 });
    expect(ran).toEqual([row.idempotencyKey]);
  });

  it("runs once however often it is executed, and everybody gets its outcome", async () => {
    const { executor, newExecutor, approved, ran } = await open();
    const row = await approved();
    const rows = await Promise.all([executor.execute(row), executor.execute(row), newExecutor().execute(row)]);
    expect(ran).toHaveLength(1);
    expect(rows[0]).toMatchObject({ state: "succeeded" });
    expect(rows[1]).toEqual(rows[0]);
    expect(["executing", "succeeded"]).toContain(rows[2].state);
    expect((await executor.execute(row)).state).toBe("succeeded");
    expect(ran).toHaveLength(1);
  });

  it("is under way until it ends, and then the executor is idle", async () => {
    const { executor, approved } = await open();
    const row = await approved();
    const attempt = executor.execute(row);
    expect(executor.attempt(row.id)).toBeDefined();
    await executor.idle();
    expect(executor.attempt(row.id)).toBeUndefined();
    expect((await attempt).state).toBe("succeeded");
  });

  it("does not run when its time to start has passed", async () => {
    const { executor, approved, ran, clock } = await open();
    const row = await approved();
    clock.now += 60_000;
    expect((await executor.execute(row)).state).toBe("expired");
    expect(ran).toEqual([]);
  });

  it("keeps its lease while it runs, and no longer", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    let finish = () => {};
    const { executor, approved, store, clock } = await open({
      tools: () => [
        new FunctionTool({
          name: "pay",
          description: "Pays.",
          parameters: z.object({ amount: z.number() }),
          execute: () => new Promise((resolve) => (finish = () => resolve({ paid: 5 }))),
        }),
      ],
    });
    const row = await approved();
    const attempt = executor.execute(row);
    await vi.waitFor(async () => expect(vi.getTimerCount()).toBe(1));
    for (let round = 0; round < 3; round++) {
      clock.now += 3000;
      await vi.advanceTimersByTimeAsync(3000);
      expect((await store.getApproval(row.id))?.leaseUntil).toBe(clock.now + 9000);
    }
    await vi.waitFor(() => {
      finish();
      expect(executor.attempt(row.id)).toBeUndefined();
    });
    expect((await attempt).state).toBe("succeeded");
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is claimed only when its tool has been found: until then nothing can have run", async () => {
    const states: (string | undefined)[] = [];
    const { executor, approved, store, agent } = await open();
    const row = await approved();
    const { canonicalTools } = agent;
    agent.canonicalTools = async (context) => {
      states.push((await store.getApproval(row.id))?.state);
      return canonicalTools.call(agent, context);
    };
    expect((await executor.execute(row)).state).toBe("succeeded");
    expect(states).toEqual(["approved"]);
  });

  it("whose claim fails tells whoever asks, also when nobody has asked yet", async () => {
    const { executor, approved, store, ran } = await open();
    const row = await approved();
    store.move = () => Promise.reject(new Error("The database is busy."));
    const attempt = executor.execute(row);
    await new Promise((resolve) => setImmediate(resolve));
    await expect(attempt).rejects.toThrow("busy");
    expect(ran).toEqual([]);
  });

  it("does not run when it was cancelled while its tool was looked for", async () => {
    const { executor, approved, store, agent, ran } = await open();
    const row = await approved();
    const { canonicalTools } = agent;
    agent.canonicalTools = async (context) => {
      await store.move(row.id, { event: "cancel" });
      return canonicalTools.call(agent, context);
    };
    expect((await executor.execute(row)).state).toBe("cancelled");
    expect(ran).toEqual([]);
  });

  it("stays approved while the store cannot be read, and runs when it can", async () => {
    const { executor, approved, store, ran } = await open();
    const row = await approved();
    const { getSession } = store;
    store.getSession = () => Promise.reject(new Error("secret path"));
    expect(await executor.execute(row)).toMatchObject({ state: "approved" });
    expect(ran).toEqual([]);
    store.getSession = getSession;
    expect(await executor.execute(row)).toMatchObject({ state: "succeeded" });
  });

  it("has failed when its tool is gone", async () => {
    const { executor, approved, agent } = await open();
    const row = await approved();
    agent.tools.length = 0;
    expect(await executor.execute(row)).toMatchObject({
      state: "failed",
      outcome: { error: "The agent root_agent no longer has a tool named pay." },
    });
  });

  it("that took too long for its lease and was taken over does not overwrite what came after", async () => {
    const { newExecutor, approved, store, clock, ran } = await open({ policy: { effect: "idempotent" } });
    const row = await approved({ effect: "idempotent" });
    const { approval: zombie } = await store.move(row.id, { event: "claim", leaseOwner: "slow", leaseMs: 1000 });
    clock.now += 1000;
    expect(await newExecutor().recover(zombie!)).toMatchObject({ state: "succeeded", fence: 2 });
    const late = await store.move(row.id, { event: "fail", outcome: { error: "late" }, fence: zombie!.fence });
    expect(late).toMatchObject({ moved: false, approval: { state: "succeeded" } });
    expect(ran).toEqual([row.idempotencyKey]);
  });
});

describe("a call whose process died", () => {
  const table: [string, EffectClass, ToolPolicy, { state: string; runs: number }][] = [
    ["is not repeated when nobody knows its effect", "opaque", {}, { state: "indeterminate", runs: 0 }],
    ["is repeated when it only reads", "readonly", {}, { state: "succeeded", runs: 1 }],
    ["is repeated when repeating changes nothing", "idempotent", {}, { state: "succeeded", runs: 1 }],
    ["is repeated when it takes part in a transaction", "transactional", {}, { state: "succeeded", runs: 1 }],
    ["is looked up, and found", "queryable", { lookup: async () => ({ paid: 5 }) }, { state: "succeeded", runs: 0 }],
    [
      "is looked up, not found and repeated",
      "queryable",
      { lookup: async () => undefined },
      { state: "succeeded", runs: 1 },
    ],
    [
      "waits when it cannot be looked up now",
      "queryable",
      { lookup: () => Promise.reject(new Error("down")) },
      { state: "executing", runs: 0 },
    ],
    ["is not repeated when there is no way to look it up", "queryable", {}, { state: "indeterminate", runs: 0 }],
  ];
  it.each(table)("%s", async (_, effect, policy, { state, runs }) => {
    const { executor, abandoned, ran } = await open({ policy: { effect, ...policy } });
    const row = await abandoned({ effect });
    expect((await executor.recover(row)).state).toBe(state);
    expect(ran).toEqual(Array.from({ length: runs }, () => row.idempotencyKey));
  });

  it("is looked up by the key of the attempt", async () => {
    const keys: string[] = [];
    const lookup = async (key: string) => {
      keys.push(key);
      return undefined;
    };
    const { executor, abandoned, ran } = await open({ policy: { effect: "queryable", lookup } });
    const row = await abandoned({ effect: "queryable" });
    await executor.recover(row);
    expect(keys).toEqual([row.idempotencyKey]);
    expect(ran).toEqual([row.idempotencyKey]);
  });

  it("whose tool has changed since is indeterminate: the lost attempt may have taken effect", async () => {
    const { executor, abandoned, ran } = await open({ policy: { effect: "idempotent" } });
    const row = await abandoned({ effect: "idempotent", toolHash: "of another declaration" });
    expect(await executor.recover(row)).toMatchObject({ state: "indeterminate" });
    expect(ran).toEqual([]);
  });

  it("with an effect class that only a later release knows is indeterminate, not run again", async () => {
    const { executor, abandoned, ran } = await open();
    const row = await abandoned({ effect: "reversible" as EffectClass });
    expect(await executor.recover(row)).toMatchObject({ state: "indeterminate" });
    expect(ran).toEqual([]);
  });

  it("is left alone while its lease lasts", async () => {
    const { executor, approved, store, ran } = await open({ policy: { effect: "idempotent" } });
    const { id } = await approved({ effect: "idempotent" });
    const { approval } = await store.move(id, { event: "claim", leaseOwner: "alive", leaseMs: 1000 });
    expect(await executor.recover(approval!)).toMatchObject({ state: "executing", leaseOwner: "alive" });
    expect(ran).toEqual([]);
  });

  it("was answered from outside, and nobody can repeat that", async () => {
    const { executor, abandoned, ran } = await open({ policy: { effect: "idempotent" } });
    expect((await executor.recover(await abandoned({ effect: "idempotent", external: true }))).state).toBe(
      "indeterminate",
    );
    expect(ran).toEqual([]);
  });

  it("and which was an agent's is finished with what the agent had said", async () => {
    const helper = new LlmAgent({ name: "helper", description: "Helps.", model: "gemini-2.5-flash" });
    const { executor, abandoned, store, chat } = await open({ tools: () => [new AgentTool({ agent: helper })] });
    await store.openSession({ id: "inner", chat: chat.id, appName: "helper" });
    const event = { id: "e1", author: "helper", content: { role: "model", parts: [{ text: "Paid." }] } };
    await store.appendEvent("inner", { id: "e1", event, responses: [] });
    const row = await abandoned({ toolName: "helper", external: true, innerSession: "inner" });
    expect(await executor.recover(row)).toMatchObject({ state: "succeeded", outcome: { result: "Paid." } });
  });
});

describe("a call that runs in a browser", () => {
  const result = { event: "succeed", outcome: { place: "here" } } as const;
  const elsewhere = { external: true, reportMs: 90_000 };

  it("waits from its yes on, and takes one report", async () => {
    const { executor, approved, clock } = await open();
    const row = await executor.execute(await approved(elsewhere));
    expect(row).toMatchObject({ state: "waiting", reportBy: clock.now + 90_000 });
    expect(await executor.report(row, result)).toMatchObject({
      taken: true,
      approval: { state: "succeeded", outcome: { place: "here" } },
    });
    expect(await executor.report(row, { event: "fail", outcome: { error: "no" } })).toMatchObject({
      taken: false,
      approval: { state: "succeeded", outcome: { place: "here" } },
    });
  });

  it("takes a report also if the server stopped between the yes and the beginning", async () => {
    const { executor, approved } = await open();
    expect(await executor.report(await approved(elsewhere), result)).toMatchObject({ taken: true });
  });

  it("takes no report once it is cancelled, nor after its time", async () => {
    const { executor, approved, store, clock } = await open();
    const { id } = await approved(elsewhere);
    await store.move(id, { event: "cancel" });
    const cancelled = (await store.getApproval(id))!;
    expect(await executor.report(cancelled, result)).toMatchObject({ taken: false, approval: { state: "cancelled" } });
    const last = await executor.execute(await approved(elsewhere));
    clock.now += 90_000;
    expect(await executor.report(last, result)).toMatchObject({ taken: false, approval: { state: "indeterminate" } });
  });
});

describe("a long-running tool", () => {
  const jobTool = (ran: string[], result?: unknown) =>
    new LongRunningFunctionTool({
      name: "pay",
      description: "Begins to pay.",
      parameters: z.object({ amount: z.number() }),
      execute: (_, context) => {
        ran.push(idempotencyKey(context!));
        return result;
      },
    });
  const reported = { reportMs: 90_000 };

  it("that has begun waits for its result, without a lease", async () => {
    const { executor, approved, clock, ran } = await open({ tools: (list) => [jobTool(list)] });
    const row = await executor.execute(await approved(reported));
    expect(row).toMatchObject({ state: "waiting", reportBy: clock.now + 90_000 });
    expect(row).not.toHaveProperty("leaseUntil");
    expect(ran).toHaveLength(1);
    clock.now += 60_000;
    expect(await executor.report(row, { event: "succeed", outcome: { paid: 5 } })).toMatchObject({
      taken: true,
      approval: { state: "succeeded", outcome: { paid: 5 } },
    });
  });

  it("says what it likes when it has begun, and that is kept", async () => {
    const { executor, approved } = await open({ tools: (list) => [jobTool(list, { job: 7 })] });
    expect(await executor.execute(await approved(reported))).toMatchObject({ state: "waiting", interim: { job: 7 } });
  });

  it("may be reported on before it has returned", async () => {
    let finish = () => {};
    let begin = () => {};
    const began = new Promise<void>((resolve) => (begin = resolve));
    const { executor, approved, store } = await open({
      tools: () => [
        new LongRunningFunctionTool({
          name: "pay",
          description: "Begins to pay.",
          parameters: z.object({ amount: z.number() }),
          execute: () => {
            begin();
            return new Promise((resolve) => (finish = () => resolve({ job: 7 })));
          },
        }),
      ],
    });
    const row = await approved(reported);
    const attempt = executor.execute(row);
    await began;
    const executing = (await store.getApproval(row.id))!;
    expect(await executor.report(executing, { event: "succeed", outcome: { paid: 5 } })).toMatchObject({ taken: true });
    finish();
    expect(await attempt).toMatchObject({ state: "succeeded", outcome: { paid: 5 } });
  });
});

describe("an outcome that cannot be recorded", () => {
  it("is recorded as soon as it can be, and the lease is kept until then", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const { executor, approved, store, ran, clock } = await open();
    const { move } = store;
    const row = await approved();
    let failures = 0;
    store.move = (id, change) => {
      if (change.event !== "succeed" || failures >= 3) return move.call(store, id, change);
      failures += 1;
      return Promise.reject(new Error("The database is locked."));
    };
    const attempt = executor.execute(row);
    await vi.waitFor(() => expect(failures).toBe(1));
    clock.now += 8000;
    await vi.advanceTimersByTimeAsync(3000);
    expect((await store.getApproval(row.id))?.leaseUntil).toBe(clock.now + 9000);
    expect(await attempt).toMatchObject({ state: "succeeded", outcome: { paid: 5 } });
    expect(failures).toBe(3);
    expect(ran).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is given up when the server stops", async () => {
    const { executor, approved, store } = await open();
    const row = await approved();
    const { move } = store;
    let fail = () => {};
    const failed = new Promise<void>((resolve) => (fail = resolve));
    store.move = (id, change) => {
      if (change.event !== "succeed") return move.call(store, id, change);
      fail();
      return Promise.reject(new Error("The database is locked."));
    };
    const attempt = executor.execute(row);
    await failed;
    executor.close();
    await expect(attempt).rejects.toThrow(/locked|aborted|stopping/);
    await executor.idle();
  });
});
