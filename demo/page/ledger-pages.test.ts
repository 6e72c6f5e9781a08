import type { ApprovalView } from "adk-stream-protocol/protocol";
import { beforeEach, expect, test } from "vitest";
import { LedgerPages } from "./ledger-pages.ts";

let rows: ApprovalView[];
let asked: (string | undefined)[];
let pages: LedgerPages;

beforeEach(() => {
  rows = [];
  asked = [];
  pages = new LedgerPages();
});

const add = (...states: ApprovalView["state"][]) =>
  rows.push(...states.map((state, index) => ({ approvalId: `a${rows.length + index}`, state }) as ApprovalView));
const states = ({ approvals }: { approvals: readonly ApprovalView[] }) => approvals.map(({ state }) => state);

/** A server whose pages have two rows. */
const read = () =>
  pages.read(async (cursor) => {
    asked.push(cursor);
    const from = Number(cursor ?? 0);
    const approvals = structuredClone(rows.slice(from, from + 2));
    return { approvals, sequence: 7, ...(rows.length > from + 2 && { cursor: String(from + 2) }) };
  });

test("all pages are one list, with the newest question at its end", async () => {
  add("denied", "succeeded", "failed", "expired", "pending");
  expect(await read()).toMatchObject({ sequence: 7 });
  expect(states(await read())).toEqual(["denied", "succeeded", "failed", "expired", "pending"]);
});

test("pages in which nothing can change are not read again", async () => {
  add("denied", "succeeded", "failed", "expired", "pending");
  await read();
  asked = [];
  rows[4]!.state = "approved";
  add("pending");
  expect(states(await read())).toEqual(["denied", "succeeded", "failed", "expired", "approved", "pending"]);
  expect(asked).toEqual(["4"]);
});

test("a page is read again as long as one of its rows, or of those before, can change", async () => {
  add("indeterminate", "succeeded", "failed", "expired", "pending");
  await read();
  rows[0]!.state = "failed";
  expect(states(await read()).at(0)).toBe("failed");
});

test("nothing is kept of a chat that is gone", async () => {
  add("denied", "succeeded", "failed");
  await read();
  const nothing = { approvals: [], sequence: 0 };
  expect(await pages.read(async () => nothing)).toEqual(nothing);
  rows = [];
  add("pending");
  expect(states(await read())).toEqual(["pending"]);
});
