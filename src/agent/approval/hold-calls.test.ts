import { LlmAgent } from "@google/adk";
import { describe, expect, it } from "vitest";
import { memoryStore } from "../../stores/memory.ts";
import type { HeldCall, RunScope } from "../adk/run-scope.ts";
import { Toolsets } from "../adk/toolsets.ts";
import { silentLogger as logger } from "../support/index.ts";
import { holdCalls } from "./hold-calls.ts";
import { Policies } from "./policies.ts";
import type { ToolPolicy } from "./policy.ts";

/** A holder over a store with one chat. */
async function open(policy: ToolPolicy = {}) {
  const clock = { now: 1_800_000_000_000 };
  const store = memoryStore({ now: () => clock.now });
  const { id: chat } = await store.openChat({ owner: "me", name: "chat", appName: "app" });
  const inventory = new Toolsets({ agent: new LlmAgent({ name: "agent", model: "gemini-2.5-flash" }), logger });
  const policies = new Policies({ tools: { pay: policy }, inventory, logger });
  const holder = holdCalls({ store, policies, logger, approvalTtlMs: 5000, startMs: 1000, maxPending: 2 });
  const run = { chat, owner: "me", mode: "live", actor: () => "ann", messageId: () => "msg_1" } as RunScope;
  const hold = (fields: Partial<HeldCall> = {}, refuseStopped = () => {}) => {
    const args = fields.args ?? { b: 2, a: 1 };
    const call = { toolCallId: "c1", toolName: "pay", args, rawArgs: args, session: chat, agent: "agent", gated: true };
    return holder.hold({ ...call, declared: [], external: false, isReported: false, ...fields }, run, refuseStopped);
  };
  return { store, clock, chat, holder, hold };
}

describe("the row of a held call", () => {
  it("binds who calls what, with the arguments in canonical form", async () => {
    const { hold, chat, clock } = await open({ effect: "idempotent" });
    expect(await hold({ hint: "Sure?", branch: "left" })).toMatchObject({
      ...{
        chat,
        session: chat,
        owner: "me",
        requestedBy: "ann",
        mode: "live",
        messageId: "msg_1",
        agent: "agent",
        branch: "left",
      },
      ...{ toolCallId: "c1", toolName: "pay", input: '{"a":1,"b":2}', hint: "Sure?", effect: "idempotent" },
      ...{ state: "pending", gated: true, told: false, expiresAt: clock.now + 5000, startMs: 1000 },
      id: expect.stringMatching(/^apr_/),
      digest: expect.stringMatching(/./),
    });
  });

  it("is not made if the turn was stopped meanwhile", async () => {
    const { hold, store, chat } = await open();
    let isStopped = false;
    const held = hold({ gated: false, external: true }, () => {
      if (isStopped) throw new Error("stopped");
    });
    isStopped = true;
    await expect(held).rejects.toThrow("stopped");
    expect(await store.listApprovals({ chat })).toEqual([]);
  });

  it("is approved from the start if no person is asked, with the key that the tool had before", async () => {
    const { hold, chat } = await open();
    const row = await hold({ gated: false });
    expect(row).toMatchObject({ state: "approved", gated: false, idempotencyKey: `${chat}:c1` });
  });

  it("waits from the start if it runs elsewhere and no person is asked", async () => {
    const { hold, clock } = await open();
    const row = await hold({ gated: false, external: true, isReported: true });
    const day = 24 * 60 * 60_000;
    expect(row).toMatchObject({ state: "waiting", reportMs: day, reportBy: clock.now + day });
  });

  it("has the time limits of its policy", async () => {
    const { hold, clock } = await open({ expiresMs: 7, startMs: 8, reportMs: 9 });
    const row = await hold({ isReported: true });
    expect(row).toMatchObject({ expiresAt: clock.now + 7, startMs: 8, reportMs: 9 });
  });

  it("lets an agent wait as long as its own calls do", async () => {
    const { hold, chat, store } = await open();
    await store.openSession({ id: "inner", chat, appName: "helper" });
    const agent = await hold({ toolCallId: "c3", gated: false, external: true, innerSession: "inner" });
    expect(agent.startMs).toBe(Number.MAX_SAFE_INTEGER);
  });

  it("is the existing one for the very same call while it waits", async () => {
    const { hold } = await open();
    const first = await hold();
    expect((await hold()).id).toBe(first.id);
    expect((await hold({ args: { a: 1, b: 2 } })).id).toBe(first.id);
  });

  it.each([
    ["other arguments", { args: { a: 2 } }],
    ["another tool", { toolName: "refund" }],
  ])("refuses a call with the same id and %s", async (_, fields) => {
    const { hold } = await open();
    await hold();
    await expect(hold(fields)).rejects.toMatchObject({ code: "conflict" });
  });

  it("refuses the same call again once it is settled", async () => {
    const { hold, store } = await open();
    const { id } = await hold();
    await store.move(id, { event: "deny", by: "me" });
    await expect(hold()).rejects.toMatchObject({ code: "conflict" });
  });

  it("is not made when too many calls wait", async () => {
    const { hold } = await open();
    await hold({ toolCallId: "c1" });
    await hold({ toolCallId: "c2" });
    await expect(hold({ toolCallId: "c3" })).rejects.toMatchObject({ code: "too_many" });
  });
});

describe("the calls of a session", () => {
  it("are known by their ids, also after they are settled", async () => {
    const { hold, holder, store, chat } = await open();
    const { id } = await hold({ toolCallId: "c1" });
    await hold({ toolCallId: "c2" });
    await store.move(id, { event: "deny", by: "me" });
    expect(await holder.callIds(chat)).toEqual(["c1", "c2"]);
    expect(await holder.callIds("elsewhere")).toEqual([]);
  });
});

describe("a call that could not be shown", () => {
  it("is cancelled, and the model is not told about it again", async () => {
    const { hold, holder, store } = await open();
    const row = await hold();
    expect(await holder.release(row, () => false)).toEqual({ done: {}, unknown: [] });
    const released = { state: "cancelled", reason: "The call could not be shown.", told: true };
    expect(await store.getApproval(row.id)).toMatchObject(released);
  });

  it("is not cancelled if a person has approved it meanwhile", async () => {
    const { hold, holder, store } = await open();
    const row = await hold();
    await store.move(row.id, { event: "approve", by: "me" });
    expect(await holder.release(row, () => false)).toBeUndefined();
    expect(await store.getApproval(row.id)).toMatchObject({ state: "approved", told: false });
  });
});

it("keeps what the model sent beside what will run, if they differ", async () => {
  const { hold } = await open();
  expect(await hold({ args: { amount: 5 }, rawArgs: { amount: "5" } })).toMatchObject({
    input: '{"amount":5}',
    rawInput: '{"amount":"5"}',
  });
  expect(await hold({ toolCallId: "c2" })).not.toHaveProperty("rawInput");
});
