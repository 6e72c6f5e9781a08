import type { UIMessage, UIMessageChunk } from "ai";
import { describe, expect, it } from "vitest";
import type { ApprovalState } from "../../protocol/index.ts";
import type { Approval, LogEntry, NewLogEntry } from "../../stores/index.ts";
import { foldLog } from "../../stores/fold-logs.ts";
import { rowsByCall, settleMessage } from "./settle-message.ts";

const log = (...entries: NewLogEntry[]): LogEntry[] =>
  entries.map((entry, index) => ({ ...entry, sequence: index + 1, at: 0 }));
const chunks = (turn: string, ...given: UIMessageChunk[]): NewLogEntry[] =>
  given.map((chunk) => ({ turn, kind: "chunk", chunk }));
const text = (turn: string, said: string): NewLogEntry[] =>
  chunks(
    turn,
    { type: "start-step" },
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta: said },
    { type: "text-end", id: "t" },
    { type: "finish-step" },
  );
const begin = (turn: string, reply: string, words?: string): NewLogEntry[] => [
  {
    turn,
    kind: "begin",
    reply,
    ...(words !== undefined && { message: { id: `u-${turn}`, role: "user", parts: [{ type: "text", text: words }] } }),
  },
  ...chunks(turn, { type: "start", messageId: reply }),
];
const question: UIMessageChunk[] = [
  { type: "start-step" },
  { type: "tool-input-start", toolCallId: "call", toolName: "pay" },
  { type: "tool-input-available", toolCallId: "call", toolName: "pay", input: { amount: 1 } },
  { type: "tool-approval-request", approvalId: "apr", toolCallId: "call" },
  { type: "data-approval", id: "apr", data: { approvalId: "apr", state: "pending" } },
  { type: "finish-step" },
];
const row = (state: ApprovalState, more: Partial<Approval> = {}): Approval => ({
  id: "apr",
  appName: "app",
  chat: "chat",
  session: "chat",
  owner: "o",
  toolCallId: "call",
  toolName: "pay",
  input: '{"amount":1}',
  digest: "d",
  messageId: "m1",
  agent: "a",
  mode: "request",
  external: false,
  effect: "opaque",
  gated: true,
  startMs: 1,
  state,
  createdAt: 0,
  expiresAt: 1,
  idempotencyKey: "apr",
  fence: 0,
  told: false,
  ...more,
});
const refuse = (error: unknown): void => {
  throw error;
};
/** The messages of a log whose turns have all ended. */
function read(entries: NewLogEntry[], approvals: Approval[] = [], onError = refuse): UIMessage[] {
  const ends = [...new Set(entries.map(({ turn }) => turn))].map((turn) => ({ turn, kind: "end" as const }));
  const rows = rowsByCall(approvals);
  return foldLog(log(...entries, ...ends), onError).map(({ message }) => settleMessage(message, rows));
}
const shape = (messages: readonly UIMessage[]) =>
  messages.map(({ id, parts }) => `${id}: ${parts.map((part) => ("text" in part ? part.text : part.type)).join(" ")}`);

describe("settleMessage", () => {
  it("puts a continuation into the message it continues, in its place", () => {
    const messages = read([
      ...begin("1", "m1", "pay"),
      ...chunks("1", ...question),
      ...begin("2", "m2", "hello"),
      ...text("2", "Hi."),
      ...begin("3", "m1"),
      ...text("3", "Paid."),
    ]);
    expect(shape(messages)).toEqual([
      "u-1: pay",
      "m1: step-start tool-pay data-approval step-start Paid.",
      "u-2: hello",
      "m2: step-start Hi.",
    ]);
  });

  it("leaves out what was withdrawn, and only that", () => {
    const entries = [...begin("1", "m1", "hello"), ...text("1", "One."), ...text("1", "Two.")];
    const second = entries.findLastIndex((entry) => entry.kind === "chunk" && entry.chunk.type === "start-step") + 1;
    const messages = read([...entries, { turn: "1", kind: "withdraw", from: second }, ...text("1", "Three.")]);
    expect(shape(messages)).toEqual(["u-1: hello", "m1: step-start One. step-start Three."]);
  });

  it("shows no message for a turn of which nothing is left", () => {
    const entries = begin("1", "m1", "hello");
    const messages = read([...entries, ...text("1", "One."), { turn: "x", kind: "withdraw", from: 2 }]);
    expect(shape(messages)).toEqual(["u-1: hello"]);
  });

  it("keeps an error as a remark about the message", () => {
    const messages = read([
      ...begin("1", "m1", "hello"),
      ...text("1", "One."),
      ...chunks("1", { type: "error", errorText: "Gone." }),
    ]);
    expect(messages.at(-1)).toMatchObject({
      metadata: { error: "Gone." },
      parts: [{ type: "step-start" }, { text: "One." }],
    });
  });

  const states: [ApprovalState, Partial<Approval>, object][] = [
    ["pending", {}, { state: "approval-requested", approval: { id: "apr" } }],
    ["approved", { decidedAt: 1 }, { state: "approval-responded", approval: { id: "apr", approved: true } }],
    ["executing", { decidedAt: 1 }, { state: "approval-responded", approval: { id: "apr", approved: true } }],
    [
      "succeeded",
      { decidedAt: 1, outcome: { paid: 1 } },
      { state: "output-available", output: { paid: 1 }, approval: { approved: true } },
    ],
    [
      "failed",
      { decidedAt: 1, outcome: { error: "No." } },
      { state: "output-error", errorText: "No.", approval: { approved: true } },
    ],
    [
      "denied",
      { decidedAt: 1, reason: "why" },
      { state: "output-denied", approval: { id: "apr", approved: false, reason: "why" } },
    ],
    [
      "expired",
      {},
      { state: "output-denied", approval: { approved: false, reason: expect.stringContaining("in time") as string } },
    ],
    [
      "cancelled",
      {},
      { state: "output-denied", approval: { approved: false, reason: expect.stringContaining("cancelled") as string } },
    ],
    [
      "expired",
      { decidedAt: 1 },
      {
        state: "output-error",
        errorText: expect.stringContaining("not started in time") as string,
        approval: { id: "apr", approved: true },
      },
    ],
    [
      "cancelled",
      { decidedAt: 1 },
      {
        state: "output-error",
        errorText: expect.stringContaining("before it was started") as string,
        approval: { id: "apr", approved: true },
      },
    ],
    [
      "indeterminate",
      { decidedAt: 1 },
      { state: "output-error", errorText: expect.stringContaining("nobody can know") as string },
    ],
  ];
  for (const [state, more, expected] of states)
    it(`shows the ledger's word where a call is ${state}${more.decidedAt ? " after an answer" : ""}, whatever the log says`, () => {
      const [, message] = read([...begin("1", "m1", "pay"), ...chunks("1", ...question)], [row(state, more)]);
      expect(message!.parts.find(({ type }) => type === "tool-pay")).toMatchObject(expected);
      expect(message!.parts.find(({ type }) => type === "data-approval")).toMatchObject({ id: "apr", data: { state } });
    });

  it("has the approval of a call that is there twice in its first part only", () => {
    const again: UIMessageChunk = { type: "tool-input-available", toolCallId: "call", toolName: "pay", input: {} };
    const entries = [
      ...begin("1", "m1", "pay"),
      ...chunks("1", ...question),
      ...begin("2", "m1"),
      ...chunks("2", { type: "start-step" }, again, { type: "finish-step" }),
    ];
    const partsIn = (state: ApprovalState, more: Partial<Approval> = {}) => {
      const [, message] = read(entries, [row(state, { decidedAt: 1, ...more })]);
      return message!.parts.filter(({ type }) => type === "tool-pay");
    };
    const approval = { id: "apr", approved: true };
    const call = { type: "tool-pay", toolCallId: "call" };
    expect(partsIn("waiting")).toEqual([
      { ...call, input: { amount: 1 }, state: "approval-responded", approval },
      { ...call, input: {}, state: "input-available" },
    ]);
    expect(partsIn("succeeded", { outcome: { paid: 1 } })).toEqual([
      { ...call, input: { amount: 1 }, state: "output-available", output: { paid: 1 }, approval },
      { ...call, input: {}, state: "output-available", output: { paid: 1 } },
    ]);
  });

  it("reads a chat around a turn that cannot be read, and reports it", () => {
    const errors: unknown[] = [];
    const messages = read(
      [
        ...begin("1", "m1", "hello"),
        ...text("1", "One."),
        ...chunks("1", { type: "tool-output-available", toolCallId: "nobody's", output: {} }),
        ...begin("2", "m2", "again"),
        ...text("2", "Two."),
      ],
      [],
      (error) => void errors.push(error),
    );
    expect(shape(messages)).toEqual(["u-1: hello", "m1: step-start One.", "u-2: again", "m2: step-start Two."]);
    expect(errors).toHaveLength(1);
  });
});
