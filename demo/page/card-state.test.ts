import type { ApprovalData, ApprovalState, ApprovalView } from "adk-stream-protocol/protocol";
import { approvalStates } from "adk-stream-protocol/protocol";
import type { UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { approvalDataOf, cardState, isDelivering, serverState, type CardFacts } from "./card-state.ts";

const data = (state: ApprovalState): ApprovalData => ({ approvalId: "a", toolCallId: "c", toolName: "pay", state });
const row = (state: ApprovalState): ApprovalView => ({
  ...data(state),
  id: "a",
  owner: "me",
  messageId: "m",
  input: {},
  digest: "d",
  createdAt: 1,
});
const facts = (change: Partial<CardFacts>): CardFacts => ({
  partState: "approval-requested",
  clientSide: false,
  delivering: false,
  runningHere: false,
  ...change,
});

describe("a card", () => {
  test("asks until there is an answer", () => {
    expect(cardState(facts({}))).toBe("asked");
    expect(cardState(facts({ row: row("pending"), data: data("pending") }))).toBe("asked");
  });

  test("does not say approved before the server has confirmed the click", () => {
    const clicked = facts({ partState: "approval-responded", row: row("pending") });
    expect(cardState({ ...clicked, delivering: true })).toBe("sending");
    expect(cardState({ ...clicked, delivering: false })).toBe("unsent");
  });

  test.each([
    ["approved", "approved"],
    ["executing", "running"],
    ["waiting", "waiting"],
    ["succeeded", "done"],
    ["failed", "failed"],
    ["denied", "denied"],
    ["expired", "expired"],
    ["cancelled", "cancelled"],
    ["indeterminate", "unknown"],
  ] as const)("shows the server's state %s as %s", (state, shown) => {
    for (const partState of ["approval-requested", "approval-responded"]) {
      expect(cardState(facts({ partState, data: data(state) }))).toBe(shown);
      expect(cardState(facts({ partState, row: row(state) }))).toBe(shown);
    }
  });

  test("shows the outcome of a server tool from the stream before the ledger has it", () => {
    expect(cardState(facts({ partState: "output-available", row: row("pending") }))).toBe("done");
    expect(cardState(facts({ partState: "output-error", row: row("executing") }))).toBe("failed");
    expect(cardState(facts({ partState: "output-denied", row: row("pending") }))).toBe("denied");
  });

  test("shows a call that has begun as waiting although its part has what the tool said", () => {
    expect(cardState(facts({ partState: "output-available", data: data("waiting") }))).toBe("waiting");
    expect(cardState(facts({ partState: "output-available", data: data("succeeded") }))).toBe("done");
    expect(cardState(facts({ partState: "output-available", row: row("indeterminate") }))).toBe("unknown");
  });

  test("does not show an expired, cancelled or indeterminate call as failed although its part has an error", () => {
    expect(cardState(facts({ partState: "output-error", data: data("expired") }))).toBe("expired");
    expect(cardState(facts({ partState: "output-error", row: row("indeterminate") }))).toBe("unknown");
    expect(cardState(facts({ partState: "output-denied", data: data("cancelled") }))).toBe("cancelled");
  });

  test("shows a browser tool as done only after the server has its result", () => {
    const ran = facts({ clientSide: true, partState: "output-available", row: row("approved") });
    expect(cardState(ran)).toBe("running");
    expect(cardState({ ...ran, row: row("succeeded") })).toBe("done");
  });

  test("shows a browser tool as running while it runs in this page", () => {
    const approved = facts({ clientSide: true, partState: "approval-responded", data: data("approved") });
    expect(cardState(approved)).toBe("approved");
    expect(cardState({ ...approved, runningHere: true })).toBe("running");
    const begun = { ...approved, data: data("waiting") };
    expect(cardState(begun)).toBe("waiting");
    expect(cardState({ ...begun, runningHere: true })).toBe("running");
    expect(cardState({ ...begun, partState: "output-available" })).toBe("running");
  });
});

test("of two reported states, the later one in an approval's life counts", () => {
  expect(serverState(data("executing"), row("approved"))).toBe("executing");
  expect(serverState(data("approved"), row("succeeded"))).toBe("succeeded");
  expect(serverState(data("indeterminate"), row("succeeded"))).toBe("succeeded");
  expect(serverState(undefined, undefined)).toBeUndefined();
  for (const state of approvalStates) expect(serverState(data("pending"), row(state))).toBe(state);
});

test("finds the newest data part of an approval in any message", () => {
  const message = (id: string, state: ApprovalState): UIMessage => ({
    id,
    role: "assistant",
    parts: [{ type: "data-approval", id: "a", data: data(state) }],
  });
  expect(approvalDataOf([message("1", "pending"), message("2", "succeeded")]).get("a")?.state).toBe("succeeded");
  expect(approvalDataOf([message("1", "succeeded"), message("2", "pending")]).get("a")?.state).toBe("succeeded");
});

describe("an answer that the server has not confirmed", () => {
  const times = { answeredAt: 3, lastBusyAt: 5, ledgerAt: 9 };
  test("is being sent while a request runs", () => {
    expect(isDelivering({ ...times, status: "submitted" })).toBe(true);
    expect(isDelivering({ ...times, status: "streaming" })).toBe(true);
  });
  test("is lost when the request that carried it failed", () => {
    expect(isDelivering({ ...times, status: "error", ledgerAt: 0 })).toBe(false);
    expect(isDelivering({ status: "error", lastBusyAt: 3, answeredAt: 3, ledgerAt: 0 })).toBe(false);
  });
  test("is not lost because an earlier request failed", () => {
    expect(isDelivering({ status: "error", lastBusyAt: 2, answeredAt: 3, ledgerAt: 1 })).toBe(true);
  });
  test("is lost only if the ledger was read after the request", () => {
    expect(isDelivering({ ...times, status: "ready", ledgerAt: 5 })).toBe(true);
    expect(isDelivering({ ...times, status: "ready", ledgerAt: 6 })).toBe(false);
  });
});
