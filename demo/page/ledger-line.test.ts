import type { ApprovalView } from "adk-stream-protocol/protocol";
import { expect, test } from "vitest";
import { ledgerLine } from "./ledger-line.ts";
import { panelStrings } from "./panel-strings.ts";

const row = { toolName: "pay", state: "pending" } as ApprovalView;
const noon = new Date(2026, 0, 1, 12, 0, 5).getTime();

test("says what the ledger says, and no more", () => {
  const { breakIt } = panelStrings.en;
  expect(ledgerLine(row, breakIt, "en")).toBe("Ledger: pay is pending.");
  const decided: ApprovalView = { ...row, state: "approved", decidedBy: "ann", decidedAt: noon };
  expect(ledgerLine(decided, breakIt, "en")).toBe("Ledger: pay is approved, decided by ann at 12:00:05.");
  expect(ledgerLine({ ...decided, state: "succeeded", finishedAt: noon }, breakIt, "en")).toBe(
    "Ledger: pay is succeeded, decided by ann at 12:00:05, ended at 12:00:05.",
  );
  expect(ledgerLine({ ...row, state: "expired", finishedAt: noon }, panelStrings.ja.breakIt, "ja")).toBe(
    "台帳: pay は expired、12:00:05 に終了。",
  );
});
