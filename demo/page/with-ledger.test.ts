import type { ApprovalInfo, CardState, ChatApprovals } from "adk-stream-protocol/client";
import type { ApprovalState, ApprovalView } from "adk-stream-protocol/protocol";
import { expect, test } from "vitest";
import { withLedger } from "./with-ledger.ts";

/** What a card shows if the chat knows one state, and the ledger another. */
function card(known: CardState, state: ApprovalState, row: Partial<ApprovalView> = {}) {
  const info = { approvalId: "a", state: known, expiresAt: 5 } as ApprovalInfo;
  const approvals = { get: (id: string) => (id === "a" ? info : undefined) } as ChatApprovals;
  const both = withLedger(approvals, [{ approvalId: "a", state, ...row } as ApprovalView]);
  return { info, shown: both.get("a") };
}

test("the outcome in the ledger is shown before the chat has read it", () => {
  const { shown } = card("approved", "succeeded", { output: { paid: 5 }, expiresAt: 9 });
  expect(shown).toEqual({ approvalId: "a", state: "done", expiresAt: 5, output: { paid: 5 } });
  expect(card("asked", "denied", { reason: "no" }).shown).toMatchObject({ state: "denied", reason: "no" });
  expect(card("waiting", "indeterminate").shown?.state).toBe("unknown");
});

test("what the chat knows counts if the ledger is older, and an answer that is being sent stays so", () => {
  for (const [known, state] of [
    ["approved", "pending"],
    ["running", "approved"],
    ["done", "executing"],
    ["sending", "approved"],
    ["unsent", "denied"],
  ] as const) {
    const { info, shown } = card(known, state);
    expect(shown).toBe(info);
  }
});
