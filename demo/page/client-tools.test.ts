import type { ApprovalState, ApprovalView } from "adk-stream-protocol/protocol";
import type { UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { approvalDataOf } from "./card-state.ts";
import { callsToRun, isOpenCall, keysToSend } from "./client-tools.ts";

type Part = UIMessage["parts"][number];

const call = (change: object, tool = "get_location"): Part => ({
  type: `tool-${tool}`,
  toolCallId: "c",
  state: "input-available",
  input: {},
  ...change,
});
const yes = call({ state: "approval-responded", approval: { id: "a", approved: true } });
const approved: Part = {
  type: "data-approval",
  id: "a",
  data: { approvalId: "a", toolCallId: "c", toolName: "get_location", state: "approved" },
};
const row = (state: ApprovalState): ApprovalView => ({
  id: "a",
  approvalId: "a",
  messageId: "m",
  toolCallId: "c",
  toolName: "get_location",
  state,
  input: {},
  digest: "d",
  createdAt: 1,
});
const chat = (parts: Part[], rows: ApprovalView[] = [], later: UIMessage[] = []) => {
  const messages: UIMessage[] = [{ id: "m", role: "assistant", parts }, ...later];
  return { messages, data: approvalDataOf(messages), rows };
};
const none = new Set<string>();
const runs = (facts: ReturnType<typeof chat>) =>
  callsToRun(facts, none, () => true).map(({ toolCallId }) => toolCallId);

describe("a browser tool", () => {
  test("without a gate runs when its call is there", () => {
    expect(runs(chat([call({}, "change_bgm")]))).toEqual(["c"]);
    expect(runs(chat([call({}, "change_bgm")], [row("approved")]))).toEqual(["c"]);
  });

  test("runs once", () => {
    expect(callsToRun(chat([call({}, "change_bgm")]), new Set(["c"]), () => true)).toEqual([]);
    expect(runs(chat([call({ state: "output-available", output: {} }, "change_bgm")]))).toEqual([]);
  });

  test("with a gate does not run before the server has recorded the yes", () => {
    expect(runs(chat([call({ state: "approval-requested", approval: { id: "a" } })]))).toEqual([]);
    expect(runs(chat([yes]))).toEqual([]);
    expect(runs(chat([yes], [row("pending")]))).toEqual([]);
  });

  test("with a gate runs only where the yes was given", () => {
    expect(callsToRun(chat([yes, approved]), none, () => false)).toEqual([]);
    expect(callsToRun(chat([call({}, "change_bgm")]), none, () => false)).toHaveLength(1);
  });

  test("with a gate runs when the stream or the ledger says approved", () => {
    expect(runs(chat([yes, approved]))).toEqual(["c"]);
    expect(runs(chat([yes], [row("approved")]))).toEqual(["c"]);
  });

  test("with a gate does not run after a no", () => {
    const no = call({ state: "approval-responded", approval: { id: "a", approved: false } });
    expect(runs(chat([no], [row("denied")]))).toEqual([]);
    expect(runs(chat([no, approved]))).toEqual([]);
  });

  test.each(["succeeded", "failed", "denied", "expired", "cancelled", "indeterminate"] as const)(
    "does not run when the server says %s",
    (state) => {
      expect(runs(chat([yes, approved], [row(state)]))).toEqual([]);
      expect(runs(chat([call({}, "change_bgm")], [row(state)]))).toEqual([]);
    },
  );

  test("in an older message runs only if the server still waits for it", () => {
    const later: UIMessage[] = [{ id: "u", role: "user", parts: [{ type: "text", text: "and?" }] }];
    expect(runs(chat([call({}, "change_bgm")], [], later))).toEqual([]);
    expect(runs(chat([call({}, "change_bgm")], [row("approved")], later))).toEqual(["c"]);
  });

  test("that tells where we are never runs unasked, whatever the server says of it", () => {
    expect(runs(chat([call({})]))).toEqual([]);
    expect(runs(chat([call({})], [row("approved")]))).toEqual([]);
  });

  test("is one of ours: a server's tool never runs here", () => {
    expect(runs(chat([call({}, "process_payment")]))).toEqual([]);
  });
});

describe("what the page sends by itself", () => {
  test("an answer the server has not acknowledged, once", () => {
    expect(keysToSend(chat([yes], [row("pending")]), none, none)).toEqual(["answer:a"]);
    expect(keysToSend(chat([yes]), none, new Set(["answer:a"]))).toEqual([]);
  });

  test("not an answer the server knows", () => {
    expect(keysToSend(chat([yes], [row("approved")]), none, none)).toEqual([]);
    expect(keysToSend(chat([yes, approved]), none, none)).toEqual([]);
  });

  test("a result made here, once, and no other result", () => {
    const done = chat([call({ state: "output-available", output: 1 })]);
    expect(keysToSend(done, new Set(["c"]), none)).toEqual(["output:c"]);
    expect(keysToSend(done, new Set(["c"]), new Set(["output:c"]))).toEqual([]);
    expect(keysToSend(done, none, none)).toEqual([]);
  });
});

describe("a yes that the stream has brought", () => {
  test("counts also while the ledger was asked before it", () => {
    expect(runs(chat([yes, approved], [row("pending")]))).toEqual(["c"]);
    expect(runs(chat([yes], [row("pending")]))).toEqual([]);
  });
});

describe("a call that has run in this page", () => {
  test("still waits for its outcome", () => {
    expect(isOpenCall(chat([yes, approved], [row("approved")]), "c")).toBe(true);
    expect(isOpenCall(chat([call({}, "change_bgm")]), "c")).toBe(true);
  });
  test("needs none any more when somebody wrote on meanwhile, or it has one", () => {
    expect(isOpenCall(chat([yes, approved], [row("cancelled")]), "c")).toBe(false);
    expect(isOpenCall(chat([call({ state: "output-available", output: {} })]), "c")).toBe(false);
    expect(isOpenCall(chat([]), "c")).toBe(false);
  });
});
