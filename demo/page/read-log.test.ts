import { expect, test } from "vitest";
import { logToEntries, readLog } from "./read-log.ts";

const head = { format: "adk-stream-protocol/log", version: 1, chat: "c", savedAt: 9 };
const file = (...lines: unknown[]) =>
  lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n");

const begin = { sequence: 1, at: 1, turn: "t", kind: "begin", reply: "m" };
const chunk = { sequence: 2, at: 2, turn: "t", kind: "chunk", chunk: { type: "start", messageId: "m" } };

test("reads what the server wrote", () => {
  const message = { id: "u", role: "user", parts: [{ type: "text", text: "hi" }] };
  const withdraw = { sequence: 3, at: 3, turn: "t", kind: "withdraw", from: 1 };
  const end = { sequence: 4, at: 4, turn: "t", kind: "end" };
  const read = readLog(`${file(head, { ...begin, message }, chunk, withdraw, end)}\n`);
  expect(read).toEqual({ chat: "c", savedAt: 9, skipped: 0, lines: [{ ...begin, message }, chunk, withdraw, end] });
});

test.each([
  ["format", ""],
  ["format", "hello"],
  ["format", "[]"],
  ["format", JSON.stringify({ messages: [] })],
  ["version", file({ ...head, version: 2 }, begin)],
  ["empty", file(head)],
  ["empty", file(head, "{", "null", { kind: "begin" })],
])("a file is refused: %s", (error, text) => {
  expect(readLog(text)).toEqual({ error });
});

test.each([
  "{",
  "[]",
  "null",
  { ...chunk, sequence: 1 },
  { ...chunk, sequence: "2" },
  { ...chunk, sequence: 1.5 },
  { ...chunk, at: null },
  { ...chunk, turn: 1 },
  { ...chunk, chunk: null },
  { ...chunk, chunk: [] },
  { ...chunk, chunk: { type: 1 } },
  { ...chunk, kind: "later" },
  { ...chunk, kind: "withdraw" },
  { ...begin, sequence: 2, reply: 1 },
])("a line that is not an entry is skipped and counted: %j", (line) => {
  expect(readLog(file(head, begin, line))).toMatchObject({ lines: [begin], skipped: 1 });
});

test.each([null, "hi", { id: 1 }, { id: "u", role: "assistant", parts: [] }, { id: "u", role: "user", parts: {} }])(
  "a message that the user did not write is left out: %j",
  (message) => {
    expect(readLog(file(head, { ...begin, message }))).toMatchObject({ lines: [begin], skipped: 0 });
  },
);

test("parts of a message that are none are left out", () => {
  const message = { id: "u", role: "user", parts: [null, 1, {}, { type: "text", text: "hi" }] };
  expect(readLog(file(head, { ...begin, message }))).toMatchObject({
    lines: [{ message: { parts: [{ type: "text", text: "hi" }] } }],
  });
});

test("becomes lines of the inspector with keys that no other line has", () => {
  const read = readLog(file(head, begin, chunk));
  const entries = "lines" in read ? logToEntries(read.lines) : [];
  expect(entries).toMatchObject([
    { key: -1, kind: "begin", turn: "t" },
    { key: -2, kind: "chunk", type: "start", sequence: 2 },
  ]);
});
