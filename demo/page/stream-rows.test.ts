import { expect, test } from "vitest";
import { rowDetail, streamRows } from "./stream-rows.ts";
import type { TapEntry } from "./stream-tap.ts";

let key = 0;
const chunk = (type: string, fields: Record<string, unknown> = {}, at = 0): TapEntry => {
  key += 1;
  return { key, at, kind: "chunk", sequence: key, type, chunk: { type, ...fields } };
};
const request = (at: number): TapEntry => ({ key: (key += 1), at, kind: "request", method: "POST", path: "/stream" });

test("folds the deltas of one part that follow each other", () => {
  const entries = [
    chunk("text-start", { id: "1" }),
    chunk("text-delta", { id: "1", delta: "Hel" }),
    chunk("text-delta", { id: "1", delta: "lo" }),
    chunk("text-delta", { id: "2", delta: "other" }),
    chunk("text-end", { id: "1" }),
    chunk("tool-input-delta", { toolCallId: "c", inputTextDelta: '{"a"' }),
    chunk("tool-input-delta", { toolCallId: "c", inputTextDelta: ":1}" }),
  ];
  const rows = streamRows(entries, { fold: true });
  expect(rows.map(({ entries: folded }) => folded.length)).toEqual([1, 2, 1, 1, 2]);
  expect(rows.map(rowDetail)).toMatchObject([
    { type: "text-start" },
    { type: "text-delta", deltas: 2, text: "Hello" },
    { type: "text-delta", delta: "other" },
    { type: "text-end" },
    { type: "tool-input-delta", deltas: 2, text: '{"a":1}' },
  ]);
  expect(streamRows(entries, { fold: false })).toHaveLength(7);
});

test("says how long after the request each line came", () => {
  const rows = streamRows([chunk("start", {}, 5), request(100), chunk("start", {}, 130), request(1000)], {
    fold: true,
  });
  expect(rows.map(({ sinceMs }) => sinceMs)).toEqual([undefined, 0, 30, 0]);
});

test("knows the approval of every chunk of a call, also of those before the question", () => {
  const rows = streamRows(
    [
      chunk("tool-input-start", { toolCallId: "c1" }),
      chunk("tool-approval-request", { toolCallId: "c1", approvalId: "a1" }),
      chunk("data-approval", { data: { approvalId: "a2", toolCallId: "c2" } }),
      chunk("tool-output-available", { toolCallId: "c2" }),
      chunk("tool-output-available", { toolCallId: "free" }),
      chunk("data-approval", { data: null }),
      chunk("finish"),
    ],
    { fold: true },
  );
  expect(rows.map(({ approvalId }) => approvalId)).toEqual(["a1", "a1", "a2", "a2", undefined, undefined, undefined]);
  expect(rows.map(({ kind }) => kind)).toEqual([
    "tools",
    "approvals",
    "approvals",
    "tools",
    "tools",
    "approvals",
    "wire",
  ]);
});

test("an opened request shows its body", () => {
  const entry: TapEntry = { key: 1, at: 0, kind: "request", method: "POST", path: "/stream", body: { id: "c" } };
  expect(rowDetail({ entry, entries: [entry] })).toEqual({ request: "POST /stream", body: { id: "c" } });
});
