import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { nextAuditEntry, verifyAudit } from "./audit-chain.ts";
import type { AuditEntry } from "./store.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const fields = { at: 5, approvalId: "id", digest: "digest" };

/** Three changes of one row. */
function chain(): [AuditEntry, AuditEntry, AuditEntry] {
  const first = nextAuditEntry(undefined, { ...fields, event: "create", state: "pending" });
  const second = nextAuditEntry(first, { ...fields, event: "approve", state: "approved", by: "花子" });
  return [first, second, nextAuditEntry(second, { ...fields, event: "cancel", state: "cancelled" })];
}

describe("the audit chain", () => {
  test("hashes the previous hash and the entry's canonical JSON, so that others can check it too", () => {
    const [first, second] = chain();
    const firstText = '{"approvalId":"id","at":5,"digest":"digest","event":"create","sequence":1,"state":"pending"}';
    const secondText =
      '{"approvalId":"id","at":5,"by":"花子","digest":"digest","event":"approve","sequence":2,"state":"approved"}';
    expect(first.hash).toBe(sha256(firstText));
    expect(second.hash).toBe(sha256(first.hash + secondText));
    expect([first.sequence, second.sequence]).toEqual([1, 2]);
  });

  test("A35: an edit that mends its own hash breaks the next entry", () => {
    const [first, , third] = chain();
    const forged = nextAuditEntry(first, { ...fields, event: "deny", state: "denied", by: "mallory" });
    expect(verifyAudit([first, forged])).toBeUndefined();
    expect(verifyAudit([first, forged, third])).toBe(3);
  });

  test("A35: a gap in the numbers is found although every hash fits", () => {
    const [first] = chain();
    const skipped = nextAuditEntry({ ...first, sequence: 2 }, { ...fields, event: "deny", state: "denied" });
    expect(skipped.sequence).toBe(3);
    expect(verifyAudit([first, skipped])).toBe(2);
  });

  test("does not depend on the order in which an entry's fields were read", () => {
    const reversed = chain().map((entry) => Object.fromEntries(Object.entries(entry).toReversed()));
    expect(verifyAudit(reversed as unknown as AuditEntry[])).toBeUndefined();
  });
});
