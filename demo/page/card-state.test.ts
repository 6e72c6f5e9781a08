import type { ApprovalData, ApprovalState, ApprovalView } from "adk-stream-protocol/protocol";
import { approvalStates } from "adk-stream-protocol/protocol";
import type { UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { approvalDataOf, cardState, isDelivering, serverState, type CardFacts } from "./card-state.ts";

const data = (state: ApprovalState): ApprovalData => ({ approvalId: "a", toolCallId: "c", toolName: "pay", state });
const row = (state: ApprovalState): ApprovalView => ({
  ...data(state),
  id: "a",
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
  test("waits while nobody has answered", () => {
    expect(cardState(facts({}))).toBe("waiting");
    expect(cardState(facts({ row: row("pending"), data: data("pending") }))).toBe("waiting");
  });

  test("never says approved because of a click alone", () => {
    const clicked = facts({ partState: "approval-responded", row: row("pending") });
    expect(cardState({ ...clicked, delivering: true })).toBe("sending");
    expect(cardState({ ...clicked, delivering: false })).toBe("undelivered");
  });

  test.each([
    ["approved", "approved"],
    ["executing", "running"],
    ["succeeded", "done"],
    ["failed", "failed"],
    ["denied", "denied"],
    ["expired", "expired"],
    ["cancelled", "cancelled"],
    ["indeterminate", "unknown"],
  ] as const)("says what the server said: %s is %s", (state, shown) => {
    for (const partState of ["approval-requested", "approval-responded"]) {
      expect(cardState(facts({ partState, data: data(state) }))).toBe(shown);
      expect(cardState(facts({ partState, row: row(state) }))).toBe(shown);
    }
  });

  test("believes the outcome of a server's tool in the stream before the ledger is asked", () => {
    expect(cardState(facts({ partState: "output-available", row: row("pending") }))).toBe("done");
    expect(cardState(facts({ partState: "output-error", row: row("executing") }))).toBe("failed");
    expect(cardState(facts({ partState: "output-denied", row: row("pending") }))).toBe("denied");
  });

  test("does not call an expired or unknowable call failed because its part carries an error", () => {
    expect(cardState(facts({ partState: "output-error", data: data("expired") }))).toBe("expired");
    expect(cardState(facts({ partState: "output-error", row: row("indeterminate") }))).toBe("unknown");
    expect(cardState(facts({ partState: "output-denied", data: data("cancelled") }))).toBe("cancelled");
  });

  test("of a browser tool is done only when the server has the result", () => {
    const ran = facts({ clientSide: true, partState: "output-available", row: row("approved") });
    expect(cardState(ran)).toBe("running");
    expect(cardState({ ...ran, row: row("succeeded") })).toBe("done");
  });

  test("of a browser tool that runs here says so", () => {
    const approved = facts({ clientSide: true, partState: "approval-responded", data: data("approved") });
    expect(cardState(approved)).toBe("approved");
    expect(cardState({ ...approved, runningHere: true })).toBe("running");
  });
});

test("the further of two reports is the newer one", () => {
  expect(serverState(data("executing"), row("approved"))).toBe("executing");
  expect(serverState(data("approved"), row("succeeded"))).toBe("succeeded");
  expect(serverState(data("indeterminate"), row("succeeded"))).toBe("succeeded");
  expect(serverState(undefined, undefined)).toBeUndefined();
  for (const state of approvalStates) expect(serverState(data("pending"), row(state))).toBe(state);
});

test("an approval's newest data part is found in whatever message it stands", () => {
  const message = (id: string, state: ApprovalState): UIMessage => ({
    id,
    role: "assistant",
    parts: [{ type: "data-approval", id: "a", data: data(state) }],
  });
  expect(approvalDataOf([message("1", "pending"), message("2", "succeeded")]).get("a")?.state).toBe("succeeded");
  expect(approvalDataOf([message("1", "succeeded"), message("2", "pending")]).get("a")?.state).toBe("succeeded");
});

describe("an unacknowledged answer", () => {
  const times = { answeredAt: 3, lastBusyAt: 5, ledgerAt: 9 };
  test("is on its way while a request runs", () => {
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
  test("is lost only when the ledger was asked after the request", () => {
    expect(isDelivering({ ...times, status: "ready", ledgerAt: 5 })).toBe(true);
    expect(isDelivering({ ...times, status: "ready", ledgerAt: 6 })).toBe(false);
  });
});
