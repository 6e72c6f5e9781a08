import { describe, expect, it } from "vitest";
import { approvalRow, newApproval } from "../../../test/fixtures/approvals.ts";
import type { Approval } from "../../stores/index.ts";
import { memoryStore } from "../../stores/memory.ts";
import { callInSession, cancelFamily, familyOf, tellable } from "./family.ts";

const row = (id: string, fields: Partial<Approval> = {}): Approval =>
  approvalRow({ id, toolCallId: `call-${id}`, toolName: id, ...fields });

/** The chat calls `helper`, an agent, which pays and calls `clerk`, another agent, which files. */
const helper = row("helper", { innerSession: "in-helper", state: "cancelled" });
const pay = row("pay", { session: "in-helper", state: "succeeded" });
const clerk = row("clerk", { session: "in-helper", innerSession: "in-clerk", state: "failed" });
const file = row("file", { session: "in-clerk", state: "executing" });
const other = row("other");
const rows = [other, file, helper, pay, clerk];
const ids = (list: readonly Approval[]) => list.map(({ id }) => id);

describe("the family of a row", () => {
  it("is the row alone for a tool", () => {
    expect(familyOf(other, rows)).toEqual([other]);
  });

  it("is the row and, for an agent, the rows of its calls and of theirs", () => {
    expect(ids(familyOf(helper, rows))).toEqual(["helper", "pay", "clerk", "file"]);
    expect(ids(familyOf(clerk, rows))).toEqual(["clerk", "file"]);
    expect(familyOf(helper, [helper])).toEqual([helper]);
  });
});

describe("the call of a session that a row works for", () => {
  it.each([
    ["itself in its own session", pay, "in-helper", "pay"],
    ["the agent that made it", pay, "chat", "helper"],
    ["the agent of the agent that made it", file, "chat", "helper"],
    ["the agent in between", file, "in-helper", "clerk"],
    ["none in a session further inside", helper, "in-helper", undefined],
    ["none in a session it has nothing to do with", pay, "elsewhere", undefined],
  ])("%s", (_, from, session, id) => {
    expect(callInSession(from, session, rows)?.id).toBe(id);
  });
});

describe("what the model is told about a row", () => {
  it("is its outcome, or that it is not known yet", () => {
    expect(tellable(row("pay", { state: "succeeded" }), [])).toEqual({
      response: { paid: 5 },
      tells: ["pay"],
      unknown: [],
    });
    expect(tellable(row("pay", { state: "executing" }), [])).toEqual({
      response: { error: "The call was approved; its outcome is not known yet.", status: "executing" },
      tells: [],
      unknown: ["call-pay"],
    });
  });

  it("includes what an agent that did not finish had done, at any depth", () => {
    const { response, tells, unknown } = tellable(helper, rows);
    expect(response).toMatchObject({
      status: "cancelled",
      calls: [
        { name: "pay", args: { amount: 5 }, state: "succeeded", response: { paid: 5 } },
        { name: "file", args: { amount: 5 }, state: "executing", response: undefined },
      ],
    });
    expect(tells).toEqual(["helper", "pay", "clerk"]);
    expect(unknown).toEqual(["call-file"]);
  });

  it("leaves out calls that had no effect", () => {
    const refused = (["denied", "cancelled", "expired"] as const).map((state) =>
      row(state, { state, session: "in-helper" }),
    );
    const { response, tells } = tellable(helper, [helper, ...refused]);
    expect(response).not.toHaveProperty("calls");
    expect(tells).toEqual(["helper", "denied", "cancelled", "expired"]);
  });

  it("is only the result of an agent that has finished", () => {
    const done = { ...helper, state: "succeeded" as const, outcome: { result: "Paid." } };
    const known = { ...pay, told: true };
    expect(tellable(done, [done, known]).response).toEqual({ result: "Paid." });
    expect(tellable(done, [done, known]).tells).toEqual(["helper", "pay"]);
  });

  it("includes what was reported after an agent had finished, which the agent does not know", () => {
    const done = { ...helper, state: "succeeded" as const, outcome: { result: "It has begun." } };
    const call = { name: "pay", args: { amount: 5 }, state: "succeeded", response: { paid: 5 } };
    expect(tellable(done, [done, pay])).toEqual({
      response: { result: "It has begun.", calls: [call] },
      tells: ["helper", "pay"],
      unknown: [],
    });
  });
});

describe("cancelling a family", () => {
  /** A chat with an agent that waits for two calls, one of them made by another agent. */
  async function open() {
    const clock = { now: 1_800_000_000_000 };
    const store = memoryStore({ now: () => clock.now });
    const { id: chat } = await store.openChat({ owner: "me", name: "chat", appName: "app" });
    await store.openSession({ id: "in-helper", chat, appName: "helper" });
    await store.openSession({ id: "in-clerk", chat, appName: "clerk" });
    const agent = { external: true, gated: false, state: "approved", startMs: Number.POSITIVE_INFINITY } as const;
    const made = await store.createApproval(newApproval({ id: "helper", chat, ...agent, innerSession: "in-helper" }));
    await store.createApproval(newApproval({ id: "pay", chat, session: "in-helper" }));
    await store.createApproval(
      newApproval({ id: "clerk", chat, session: "in-helper", ...agent, innerSession: "in-clerk" }),
    );
    await store.createApproval(newApproval({ id: "file", chat, session: "in-clerk" }));
    const states = async () => (await store.listApprovals({ chat })).map(({ id, state }) => `${id} ${state}`);
    return { store, clock, made, states };
  }

  it("cancels the call and everything it waits for, and returns those rows with the call last", async () => {
    const { store, made, states } = await open();
    const ended = await cancelFamily(made, store);
    expect(ids(ended)).toEqual(["pay", "file", "clerk", "helper"]);
    expect(await states()).toEqual(["helper cancelled", "pay cancelled", "clerk cancelled", "file cancelled"]);
  });

  it("leaves alone what runs or is over", async () => {
    const { store, made, states } = await open();
    await store.move("pay", { event: "deny", by: "me" });
    await store.move("file", { event: "approve", by: "me" });
    await store.move("file", { event: "claim", leaseOwner: "here", leaseMs: 1000 });
    expect(ids(await cancelFamily(made, store))).toEqual(["clerk", "helper"]);
    expect(await states()).toEqual(["helper cancelled", "pay denied", "clerk cancelled", "file executing"]);
    expect(await cancelFamily(made, store)).toEqual([]);
  });

  it("leaves alone what a person has approved, also since the row was read", async () => {
    const { store, made, states } = await open();
    await store.move("pay", { event: "approve", by: "me" });
    const asked = (await store.getApproval("file"))!;
    await store.move("file", { event: "approve", by: "me" });
    expect(await cancelFamily(asked, store)).toEqual([]);
    expect(ids(await cancelFamily(made, store))).toEqual(["clerk", "helper"]);
    expect(await states()).toEqual(["helper cancelled", "pay approved", "clerk cancelled", "file approved"]);
  });

  it("returns a row past its time too, which expires instead", async () => {
    const { store, clock, made, states } = await open();
    clock.now += 60_000;
    expect(ids(await cancelFamily(made, store))).toEqual(["pay", "file", "clerk", "helper"]);
    expect(await states()).toEqual(["helper cancelled", "pay expired", "clerk cancelled", "file expired"]);
  });
});
