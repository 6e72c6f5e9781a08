import type { UIMessage, UIMessageChunk } from "ai";
import { validateUIMessages } from "ai";
import { describe, expect, test } from "vitest";
import type { ApprovalState, ApprovalView } from "../../protocol/index.ts";
import { chunksInDialect, messagesInDialect } from "./dialect.ts";

const view = (id: string, more: Partial<ApprovalView> = {}): ApprovalView => ({
  id,
  owner: "me",
  approvalId: id,
  messageId: "msg",
  toolCallId: `call-${id}`,
  toolName: "pay",
  state: "pending",
  input: { amount: 50 },
  digest: "digest",
  createdAt: 0,
  ...more,
});

const start: UIMessageChunk = { type: "start", messageId: "msg" };
const asking = (id: string): UIMessageChunk => ({
  type: "tool-approval-request",
  approvalId: id,
  toolCallId: `call-${id}`,
});
const notice = (id: string, state: ApprovalState, errorText?: string): UIMessageChunk => ({
  type: "data-approval",
  id,
  data: { approvalId: id, toolCallId: `call-${id}`, toolName: "pay", state, errorText },
});
const denied = (id: string): UIMessageChunk => ({ type: "tool-output-denied", toolCallId: `call-${id}` });
const failed = (id: string, errorText: string): UIMessageChunk => ({
  type: "tool-output-error",
  toolCallId: `call-${id}`,
  errorText,
});
const requested = (id: string, hint = expect.stringContaining("pay")) => [
  { type: "tool-input-start", toolCallId: id, toolName: "adk_request_confirmation" },
  {
    type: "tool-input-available",
    toolCallId: id,
    toolName: "adk_request_confirmation",
    input: {
      originalFunctionCall: { id: `call-${id}`, name: "pay", args: { amount: 50 } },
      toolConfirmation: { hint, confirmed: false },
    },
  },
];

async function translate(chunks: readonly UIMessageChunk[], rows: readonly ApprovalView[] = [view("a"), view("b")]) {
  const one = chunksInDialect("tool", async (id) => rows.find((row) => row.id === id));
  const translated: UIMessageChunk[][] = [];
  for (const chunk of chunks) translated.push(await one(chunk));
  return translated.flat();
}

describe("the stream in the second dialect", () => {
  test("is what it was in the first one", async () => {
    const one = chunksInDialect("approval", async () => view("a"));
    for (const chunk of [start, asking("a"), denied("a"), notice("a", "expired")])
      expect(await one(chunk)).toEqual([chunk]);
  });

  test("asks in a step of its own, for all calls of the step at once", async () => {
    expect(
      await translate([
        start,
        { type: "start-step" },
        asking("a"),
        asking("b"),
        { type: "finish-step" },
        { type: "finish" },
      ]),
    ).toEqual([
      start,
      { type: "start-step" },
      { type: "finish-step" },
      { type: "start-step" },
      ...requested("a"),
      ...requested("b"),
      { type: "finish-step" },
      { type: "finish" },
    ]);
  });

  test("shows the policy's hint before the tool's own", async () => {
    const asks = view("a", { hint: "Really?", card: { hint: { en: "Sends money.", ja: "送金します。" } } });
    expect(await translate([asking("a"), { type: "finish-step" }], [asks])).toEqual([
      { type: "finish-step" },
      { type: "start-step" },
      ...requested("a", "Sends money."),
      { type: "finish-step" },
    ]);
  });

  test("shows the tool's own hint", async () => {
    const chunks = await translate([asking("a"), { type: "finish-step" }], [view("a", { hint: "Really?" })]);
    expect(chunks.slice(2, 4)).toEqual(requested("a", "Really?"));
  });

  test("leaves steps without a question alone, also after one with a question", async () => {
    const step: UIMessageChunk[] = [{ type: "start-step" }, { type: "finish-step" }];
    expect((await translate([asking("a"), { type: "finish-step" }, ...step])).slice(-2)).toEqual(step);
    expect(await translate([asking("unknown"), { type: "finish-step" }])).toEqual([{ type: "finish-step" }]);
  });

  test("says a denial as an error, with the notice's words", async () => {
    const denial = notice("a", "denied", "The user said no.");
    expect(await translate([start, denial, denied("a")])).toEqual([start, denial, failed("a", "The user said no.")]);
    expect(await translate([start, denied("a")])).toEqual([start, failed("a", "The call was not run.")]);
  });

  test.each(["expired", "cancelled"] as const)("settles a call that is %s, once", async (state) => {
    const end = notice("a", state, "Too late.");
    expect(await translate([start, end])).toEqual([start, end, failed("a", "Too late.")]);
    expect(await translate([start, end, failed("a", "Too late."), denied("a")])).toEqual([
      start,
      end,
      failed("a", "Too late."),
    ]);
    expect(await translate([start, failed("a", "First."), end])).toEqual([start, failed("a", "First."), end]);
  });

  test("settles no call of another message: a chat would fail at it", async () => {
    const end = notice("a", "cancelled");
    expect(await translate([{ type: "start", messageId: "other" }, end])).toEqual([
      { type: "start", messageId: "other" },
      end,
    ]);
    expect(await translate([start, notice("unknown", "expired")])).toHaveLength(2);
  });

  test("passes everything else on", async () => {
    const chunks: UIMessageChunk[] = [
      notice("a", "approved"),
      notice("a", "succeeded"),
      { type: "tool-output-available", toolCallId: "call-a", output: 1 },
      { type: "text-delta", id: "t", delta: "hi" },
      { type: "abort" },
      { type: "error", errorText: "x" },
    ];
    expect(await translate(chunks)).toEqual(chunks);
  });
});

describe("messages in the second dialect", () => {
  const call = { type: "tool-pay", toolCallId: "call-a", input: { amount: 50 } } as const;
  type Part = UIMessage["parts"][number];
  const rows: [ApprovalState, number | undefined, object, object, object][] = [
    [
      "pending",
      undefined,
      { state: "approval-requested", approval: { id: "a" } },
      { state: "input-available" },
      { state: "input-available" },
    ],
    [
      "executing",
      1,
      { state: "approval-responded", approval: { id: "a", approved: true } },
      { state: "input-available" },
      { state: "output-available", output: { confirmed: true } },
    ],
    [
      "succeeded",
      1,
      { state: "output-available", output: 1, approval: { id: "a", approved: true } },
      { state: "output-available", output: 1 },
      { state: "output-available", output: { confirmed: true } },
    ],
    [
      "failed",
      1,
      { state: "output-error", errorText: "broke", approval: { id: "a", approved: true } },
      { state: "output-error", errorText: "broke" },
      { state: "output-available", output: { confirmed: true } },
    ],
    [
      "denied",
      1,
      { state: "output-denied", approval: { id: "a", approved: false, reason: "no" } },
      { state: "output-error", errorText: "The row's words." },
      { state: "output-available", output: { confirmed: false } },
    ],
    [
      "expired",
      undefined,
      { state: "output-denied", approval: { id: "a", approved: false } },
      { state: "output-error", errorText: "The row's words." },
      { state: "output-error", errorText: "The row's words." },
    ],
    [
      "cancelled",
      undefined,
      { state: "output-denied", approval: { id: "a", approved: false } },
      { state: "output-error", errorText: "The row's words." },
      { state: "output-error", errorText: "The row's words." },
    ],
  ];
  test.each(rows)(
    "show a %s call (decided at %s) and its confirmation",
    async (state, decidedAt, part, plain, confirmation) => {
      const message: UIMessage = {
        id: "msg",
        role: "assistant",
        parts: [
          { type: "step-start" },
          { ...call, ...part } as never,
          { type: "step-start" },
          { type: "text", text: "So." },
        ],
      };
      const approvals = [
        view("a", { state, errorText: "The row's words.", ...(decidedAt !== undefined && { decidedAt }) }),
      ];
      const messages = messagesInDialect([message], "tool", approvals);
      expect(messages[0]!.parts).toEqual([
        { type: "step-start" },
        { ...call, ...plain },
        { type: "step-start" },
        {
          type: "tool-adk_request_confirmation",
          toolCallId: "a",
          input: expect.objectContaining({ originalFunctionCall: expect.anything() }),
          ...confirmation,
        },
        { type: "step-start" },
        { type: "text", text: "So." },
      ]);
      await validateUIMessages({ messages });
      expect(messagesInDialect([message], "approval", approvals)).toEqual([message]);
    },
  );

  test("keep calls that were not gated", () => {
    const parts: Part[] = [
      { type: "step-start" },
      { ...call, state: "output-available", output: 1 },
      { type: "text", text: "hi" },
    ];
    expect(messagesInDialect([{ id: "msg", role: "assistant", parts }], "tool", [view("a")])).toEqual([
      { id: "msg", role: "assistant", parts },
    ]);
  });
});
