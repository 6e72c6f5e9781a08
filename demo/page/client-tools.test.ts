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
  owner: "me",
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
  test("runs at once if it needs no approval", () => {
    expect(runs(chat([call({}, "change_bgm")]))).toEqual(["c"]);
    expect(runs(chat([call({}, "change_bgm")], [row("approved")]))).toEqual(["c"]);
  });

  test("runs once", () => {
    expect(callsToRun(chat([call({}, "change_bgm")]), new Set(["c"]), () => true)).toEqual([]);
    expect(runs(chat([call({ state: "output-available", output: {} }, "change_bgm")]))).toEqual([]);
  });

  test("that needs approval does not run before the server has recorded the yes", () => {
    expect(runs(chat([call({ state: "approval-requested", approval: { id: "a" } })]))).toEqual([]);
    expect(runs(chat([yes]))).toEqual([]);
    expect(runs(chat([yes], [row("pending")]))).toEqual([]);
  });

  test("that needs approval runs only in the tab where the yes was given", () => {
    expect(callsToRun(chat([yes, approved]), none, () => false)).toEqual([]);
    expect(callsToRun(chat([call({}, "change_bgm")]), none, () => false)).toHaveLength(1);
  });

  test("that needs approval runs when the stream or the ledger says approved", () => {
    expect(runs(chat([yes, approved]))).toEqual(["c"]);
    expect(runs(chat([yes], [row("approved")]))).toEqual(["c"]);
  });

  test("that needs approval does not run after a no", () => {
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

  test("that shares the location never runs without a question, even if the server says approved", () => {
    expect(runs(chat([call({})]))).toEqual([]);
    expect(runs(chat([call({})], [row("approved")]))).toEqual([]);
  });

  test("runs only if this page has it: a server tool never runs here", () => {
    expect(runs(chat([call({}, "process_payment")]))).toEqual([]);
  });
});

describe("the page sends by itself", () => {
  test("an answer the server has not confirmed, once", () => {
    expect(keysToSend(chat([yes], [row("pending")]), none, none)).toEqual(["answer:a"]);
    expect(keysToSend(chat([yes]), none, new Set(["answer:a"]))).toEqual([]);
  });

  test("no answer that the server already has", () => {
    expect(keysToSend(chat([yes], [row("approved")]), none, none)).toEqual([]);
    expect(keysToSend(chat([yes, approved]), none, none)).toEqual([]);
  });

  test("a result made in this page, once, and no other result", () => {
    const done = chat([call({ state: "output-available", output: 1 })]);
    expect(keysToSend(done, new Set(["c"]), none)).toEqual(["output:c"]);
    expect(keysToSend(done, new Set(["c"]), new Set(["output:c"]))).toEqual([]);
    expect(keysToSend(done, none, none)).toEqual([]);
  });
});

describe("a yes in the stream", () => {
  test("counts although the ledger was read before it", () => {
    expect(runs(chat([yes, approved], [row("pending")]))).toEqual(["c"]);
    expect(runs(chat([yes], [row("pending")]))).toEqual([]);
  });
});

describe("a call that has run in this page", () => {
  test("still waits for its outcome", () => {
    expect(isOpenCall(chat([yes, approved], [row("approved")]), "c")).toBe(true);
    expect(isOpenCall(chat([call({}, "change_bgm")]), "c")).toBe(true);
  });
  test("no longer waits if a new message cancelled it, or if it has an outcome", () => {
    expect(isOpenCall(chat([yes, approved], [row("cancelled")]), "c")).toBe(false);
    expect(isOpenCall(chat([call({ state: "output-available", output: {} })]), "c")).toBe(false);
    expect(isOpenCall(chat([]), "c")).toBe(false);
  });
});
