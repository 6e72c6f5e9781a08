import { describe, expect, it } from "vitest";
import { approvalRow } from "../../../test/fixtures/approvals.ts";
import { continuesUnattended } from "./conversations.ts";

describe("a reply continues without a client", () => {
  it("when all its calls were made by request", () => {
    expect(continuesUnattended([])).toBe(true);
    expect(continuesUnattended([approvalRow(), approvalRow()])).toBe(true);
  });

  it("but not when a live model made one of them", () => {
    expect(continuesUnattended([approvalRow(), approvalRow({ mode: "live" })])).toBe(false);
  });
});
