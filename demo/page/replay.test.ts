import { expect, test, vi } from "vitest";
import type { LogLine } from "./read-log.ts";
import { createReplay } from "./replay.ts";

type Entry = LogLine extends infer L ? (L extends LogLine ? Omit<L, "sequence" | "at"> : never) : never;

/** Numbers the entries. One second passes between two of them. */
const log = (...entries: Entry[]) =>
  entries.map((entry, index) => ({ ...entry, sequence: index + 1, at: 1000 * index }));
const chunk = (turn: string, fields: Record<string, unknown>) => ({ turn, kind: "chunk", chunk: fields }) as Entry;

const user = (id: string, text: string) => ({ id, role: "user" as const, parts: [{ type: "text" as const, text }] });
const ask = { approvalId: "a", toolCallId: "c", toolName: "pay" };

const story = log(
  { turn: "t1", kind: "begin", reply: "m", message: user("u", "Pay") },
  chunk("t1", { type: "start", messageId: "m" }),
  chunk("t1", { type: "start-step" }),
  chunk("t1", { type: "tool-input-available", toolCallId: "c", toolName: "pay", input: { amount: 5 } }),
  chunk("t1", { type: "tool-approval-request", approvalId: "a", toolCallId: "c" }),
  chunk("t1", { type: "data-approval", id: "a", data: { ...ask, state: "pending" } }),
  chunk("t1", { type: "finish-step" }),
  { turn: "t1", kind: "end" },
  { turn: "t2", kind: "begin", reply: "m" },
  chunk("t2", { type: "start", messageId: "m" }),
  chunk("t2", { type: "data-approval", id: "a", data: { ...ask, state: "succeeded" } }),
  chunk("t2", { type: "tool-output-available", toolCallId: "c", output: { paid: 5 } }),
  chunk("t2", { type: "start-step" }),
  chunk("t2", { type: "text-start", id: "1" }),
  chunk("t2", { type: "text-delta", id: "1", delta: "Paid." }),
  chunk("t2", { type: "text-end", id: "1" }),
  { turn: "t2", kind: "end" },
);

/** A replay whose time passes when the test says so. */
function stage(lines: LogLine[]) {
  const waits: { callback: () => void; ms: number }[] = [];
  const replay = createReplay(lines, {
    schedule: (draw) => draw(),
    later: (callback, ms) => {
      const wait = { callback, ms };
      waits.push(wait);
      return () => void (waits.includes(wait) && waits.splice(waits.indexOf(wait), 1));
    },
  });
  const shown = () =>
    replay
      .state()
      .messages.map(({ role, parts }) => [
        role,
        ...parts.map((part) => ("state" in part ? `${part.type} ${String(part.state)}` : part.type)),
      ]);
  return { replay, waits, shown, pass: () => waits.shift()?.callback() };
}

const settled = [
  ["user", "text"],
  ["assistant", "step-start", "tool-pay output-available", "data-approval", "step-start", "text done"],
];
const atTheQuestion = [
  ["user", "text"],
  ["assistant", "step-start", "tool-pay approval-requested", "data-approval"],
];

test("builds the messages of a log, one message for both turns of a reply", async () => {
  const { replay, shown } = stage(story);
  replay.seek(story.length);
  await vi.waitFor(() => expect(shown()).toEqual(settled));
  expect(replay.state()).toMatchObject({ position: story.length, at: 16_000, isPlaying: false });
});

test("shows the conversation as it was, also when going back", async () => {
  const { replay, shown } = stage(story);
  replay.seek(8);
  await vi.waitFor(() => expect(shown()).toEqual(atTheQuestion));
  replay.seek(999);
  await vi.waitFor(() => expect(shown()).toEqual(settled));
  replay.seek(8);
  await vi.waitFor(() => expect(shown()).toEqual(atTheQuestion));
  replay.seek(-5);
  expect(shown()).toEqual([]);
});

test("plays at the pace of the log or faster, with short pauses, and stops at the end", async () => {
  const long = story.map((line) => (line.sequence > 8 ? { ...line, at: line.at + 3_600_000 } : line));
  const { replay, waits, pass, shown } = stage(long);
  replay.play();
  replay.play();
  expect(waits.map(({ ms }) => ms)).toEqual([0]);
  pass();
  expect(waits.map(({ ms }) => ms)).toEqual([1000]);
  replay.setSpeed(10);
  expect(waits.map(({ ms }) => ms)).toEqual([100]);
  for (let line = 1; line < 8; line += 1) pass();
  expect(waits.map(({ ms }) => ms)).toEqual([150]);
  replay.pause();
  expect(waits).toEqual([]);
  replay.play();
  while (waits.length > 0) pass();
  expect(replay.state()).toMatchObject({ isPlaying: false, position: story.length });
  await vi.waitFor(() => expect(shown()).toEqual(settled));
  replay.play();
  expect(replay.state()).toMatchObject({ isPlaying: true, position: 0 });
});

test("takes back what was withdrawn", async () => {
  const { replay, shown } = stage(
    log(
      { turn: "t1", kind: "begin", reply: "m1", message: user("u1", "Hello") },
      chunk("t1", { type: "start", messageId: "m1" }),
      { turn: "t1", kind: "end" },
      { turn: "t2", kind: "begin", reply: "m2", message: user("u2", "Again") },
      chunk("t2", { type: "text-start", id: "1" }),
      { turn: "t2", kind: "end" },
      { turn: "t3", kind: "withdraw", from: 4 },
      { turn: "t3", kind: "begin", reply: "m3", message: user("u3", "Edited") },
      { turn: "t3", kind: "end" },
    ),
  );
  replay.seek(6);
  await vi.waitFor(() => expect(shown().length).toBe(4));
  replay.seek(9);
  await vi.waitFor(() => expect(replay.state().messages.map(({ id }) => id)).toEqual(["u1", "m1", "u3"]));
});

test("a chunk that does not fit ends its turn, and the next turns are played", async () => {
  const { replay } = stage(
    log(
      { turn: "t1", kind: "begin", reply: "m1" },
      chunk("t1", { type: "text-delta", id: "none", delta: "x" }),
      chunk("t1", { type: "nonsense" }),
      chunk("t1", { type: "tool-output-available", toolCallId: "none", output: 1 }),
      { turn: "t1", kind: "end" },
      chunk("unknown", { type: "start" }),
      { turn: "t2", kind: "begin", reply: "m2", message: user("u2", "Hi") },
      chunk("t2", { type: "text-start", id: "1" }),
      chunk("t2", { type: "text-delta", id: "1", delta: "Hello" }),
      { turn: "t2", kind: "end" },
    ),
  );
  replay.seek(10);
  await vi.waitFor(() =>
    expect(replay.state().messages.at(-1)?.parts).toMatchObject([{ type: "text", text: "Hello" }]),
  );
});
