import type { UIMessage, UIMessageChunk } from "ai";
import { describe, expect, it } from "vitest";
import { type Ai, majors, validateOn } from "../../../test/fixtures/stock-chat.ts";
import { type ApprovalState, approvalStates, isSettled } from "../../protocol/index.ts";
import type { Approval } from "../../stores/index.ts";
import {
  approvalToData,
  approvalToResponse,
  approvalToView,
  dataApproval,
  errorText,
  outcomeNote,
  outcomeChunks,
  questionChunks,
} from "./outcome.ts";

const base: Approval = {
  id: "apr_1",
  appName: "app",
  chat: "chat",
  session: "chat",
  owner: "local",
  toolCallId: "call-1",
  toolName: "pay",
  input: '{"amount":5}',
  digest: "digest",
  messageId: "msg_1",
  agent: "root_agent",
  mode: "request",
  external: false,
  effect: "opaque",
  gated: true,
  state: "pending",
  startMs: 1000,
  createdAt: 1,
  expiresAt: 900_001,
  idempotencyKey: "apr_1",
  fence: 0,
  told: false,
};

/** A row as the ledger would have it in this state. */
function row(state: ApprovalState, fields: Partial<Approval> = {}): Approval {
  const isDecided = !["pending", "expired", "cancelled"].includes(state);
  return {
    ...base,
    state,
    ...(isDecided && { decidedAt: 5, decidedBy: "local" }),
    ...(isSettled(state) && { finishedAt: 9 }),
    ...(state === "succeeded" && { outcome: { paid: 5 } }),
    ...(state === "failed" && { outcome: { error: "no funds" } }),
    ...fields,
  };
}

const called: UIMessageChunk[] = [
  { type: "start", messageId: "msg_1" },
  { type: "start-step" },
  { type: "tool-input-start", toolCallId: "call-1", toolName: "pay" },
  { type: "tool-input-available", toolCallId: "call-1", toolName: "pay", input: { amount: 5 } },
];

/** The message a client has before the outcome: asked and answered, asked, or not asked at all. */
async function messageBefore(ai: Ai, isAsked: boolean, answered: boolean | undefined): Promise<UIMessage> {
  const question = isAsked ? questionChunks(row("pending")) : [];
  const message = await validateOn(ai, [...called, ...question, { type: "finish-step" }, { type: "finish" }]);
  if (answered === undefined) return message;
  const answer = { state: "approval-responded", approval: { id: "apr_1", approved: answered } };
  return {
    ...message,
    parts: message.parts.map((part) => (part.type === "tool-pay" ? ({ ...part, ...answer } as typeof part) : part)),
  };
}

function reply(approval: Approval, answered: boolean | undefined): UIMessageChunk[] {
  return [{ type: "start", messageId: "msg_1" }, ...outcomeChunks(approval, answered), { type: "finish" }];
}

const toolState = ({ parts }: UIMessage): unknown =>
  parts.flatMap((part) => (part.type === "tool-pay" ? [(part as { state: string }).state] : []))[0];

describe("an outcome in the chat", () => {
  const afterYes: Record<ApprovalState, string> = {
    pending: "approval-responded",
    approved: "approval-responded",
    executing: "approval-responded",
    waiting: "approval-responded",
    succeeded: "output-available",
    failed: "output-error",
    denied: "output-error",
    expired: "output-error",
    cancelled: "output-error",
    indeterminate: "output-error",
  };

  for (const [name, ai] of majors) {
    it.each(approvalStates)(`settles the call of a client that said yes, on ${name}: %s`, async (state) => {
      const message = await validateOn(ai, reply(row(state), true), await messageBefore(ai, true, true));
      expect(toolState(message)).toBe(afterYes[state]);
    });

    it.each(approvalStates)(`settles the call of a client that said no, on ${name}: %s`, async (state) => {
      const message = await validateOn(ai, reply(row(state), false), await messageBefore(ai, true, false));
      expect(toolState(message)).toBe(isSettled(state) ? "output-denied" : "approval-responded");
    });

    it.each(approvalStates.filter((state) => state !== "pending" && state !== "denied"))(
      `settles a call nobody was asked about, on ${name}: %s`,
      async (state) => {
        const approval = row(state, { gated: false, external: true, decidedAt: undefined });
        const message = await validateOn(ai, reply(approval, undefined), await messageBefore(ai, false, undefined));
        expect(toolState(message)).toBe(isSettled(state) ? afterYes[state] : "input-available");
        expect(message.parts.some(({ type }) => type === "data-approval")).toBe(false);
      },
    );

    it.each(["succeeded", "failed", "indeterminate"] as const)(
      `is readable for a client that was answered for elsewhere and reads the call again, on ${name}: %s`,
      async (state) => {
        const message = await validateOn(ai, reply(row(state), undefined), await messageBefore(ai, false, undefined));
        expect(toolState(message)).toBe(afterYes[state]);
      },
    );

    it.each(["expired", "cancelled"] as const)(
      `is an error for a client that reads a call again which was approved elsewhere, on ${name}: %s`,
      async (state) => {
        const approval = row(state, { decidedAt: 5, decidedBy: "local" });
        const message = await validateOn(ai, reply(approval, undefined), await messageBefore(ai, false, undefined));
        expect(toolState(message)).toBe("output-error");
      },
    );

    it.each(["expired", "cancelled"] as const)(
      `leaves the question of a client that never answered valid, on ${name}: %s`,
      async (state) => {
        const message = await validateOn(ai, reply(row(state), undefined), await messageBefore(ai, true, undefined));
        expect(toolState(message)).toBe("approval-requested");
        expect(message.parts.at(-1)).toMatchObject({ type: "data-approval", data: { state } });
      },
    );
  }

  it("tells what really became of the call beside what the client believes", () => {
    expect(outcomeChunks(row("succeeded"), false)).toMatchObject([
      { type: "data-approval", id: "apr_1", data: { state: "succeeded", output: { paid: 5 } } },
      { type: "tool-output-denied", toolCallId: "call-1" },
    ]);
    expect(outcomeChunks(row("denied", { reason: "too much" }), true)).toMatchObject([
      { type: "data-approval", data: { state: "denied", reason: "too much" } },
      { type: "tool-output-error", errorText: "The user rejected this call; it was not run. Reason: too much" },
    ]);
    expect(outcomeChunks(row("denied"), undefined).at(-1)).toEqual({
      type: "tool-output-denied",
      toolCallId: "call-1",
    });
  });
});

describe("an outcome for the model", () => {
  it.each(approvalStates)("%s is told once there is something to tell", (state) => {
    const response = approvalToResponse(row(state));
    expect(response === undefined).toBe(!isSettled(state));
  });

  it("is the tool's own result, or null where it had none", () => {
    expect(approvalToResponse(row("succeeded"))).toEqual({ paid: 5 });
    expect(approvalToResponse(row("succeeded", { outcome: undefined }))).toEqual({ result: null });
  });

  it.each([
    ["failed", { error: "no funds", status: "failed" }],
    ["denied", { error: "The user rejected this call; it was not run.", status: "denied" }],
    ["expired", { error: "Nobody answered the approval request in time; the call was not run.", status: "expired" }],
    ["cancelled", { error: "The call was cancelled before it was approved; it was not run.", status: "cancelled" }],
    ["indeterminate", { error: expect.stringContaining("nobody can know"), status: "indeterminate" }],
  ] as const)("says what %s means", (state, response) => {
    expect(approvalToResponse(row(state))).toEqual(response);
  });

  it.each(["expired", "cancelled"] as const)("says of a call that was %s only what can be known", (state) => {
    const approved = { decidedAt: 5, decidedBy: "local" };
    expect(errorText(row(state))).toMatch(/was not run\.$/);
    expect(errorText(row(state, approved))).toMatch(/start.*was not run\.$/);
    expect(errorText(row(state, { ...approved, external: true }))).toMatch(/may have taken effect\.$/);
    expect(errorText(row(state, { gated: false, external: true }))).toMatch(/may have taken effect\.$/);
  });

  it("passes a person's reason on", () => {
    expect(approvalToResponse(row("denied", { reason: "wrong person" }))).toMatchObject({
      error: expect.stringContaining("Reason: wrong person"),
    });
  });

  it("that comes late names the call it is about", () => {
    const note = outcomeNote(row("succeeded"));
    expect(note).toBe('[context, not from the user] The earlier call pay({"amount":5}) ended as succeeded: {"paid":5}');
  });
});

describe("a row for its readers", () => {
  it("has a notice only where a person is asked", () => {
    expect(dataApproval(row("pending"))).toEqual([
      { type: "data-approval", id: "apr_1", data: approvalToData(row("pending")) },
    ]);
    expect(dataApproval(row("approved", { gated: false }))).toEqual([]);
  });

  it.each(approvalStates)("shows an output or an error only when there is one: %s", (state) => {
    const data = approvalToData(row(state));
    expect("output" in data).toBe(state === "succeeded");
    expect("errorText" in data).toBe(isSettled(state) && state !== "succeeded");
    expect(data.state).toBe(state);
  });

  it("says until when a report could come, also after that time", () => {
    expect(approvalToData(row("waiting", { reportBy: 9 }))).toMatchObject({ reportBy: 9 });
    expect(approvalToData(row("indeterminate", { reportBy: 9 }))).toMatchObject({ reportBy: 9 });
    // It was not the time that ended this one.
    expect(approvalToData(row("indeterminate", { reportBy: 10 }))).not.toHaveProperty("reportBy");
    expect(approvalToData(row("succeeded", { reportBy: 9 }))).not.toHaveProperty("reportBy");
  });

  it("shows what was stored and nothing that was not", () => {
    expect(approvalToView(row("pending", { hint: "Sure?" }))).toEqual({
      approvalId: "apr_1",
      id: "apr_1",
      owner: "local",
      toolCallId: "call-1",
      toolName: "pay",
      state: "pending",
      expiresAt: 900_001,
      input: { amount: 5 },
      digest: "digest",
      createdAt: 1,
      hint: "Sure?",
      messageId: "msg_1",
    });
    expect(approvalToView(row("denied", { reason: "no" }))).toMatchObject({
      decidedAt: 5,
      decidedBy: "local",
      reason: "no",
      finishedAt: 9,
    });
  });

  it("asks with the hint a tool gave", () => {
    const [question] = questionChunks(row("pending", { hint: "Sure?" }));
    expect(question).toEqual({
      type: "tool-approval-request",
      approvalId: "apr_1",
      toolCallId: "call-1",
      approvalDescriptor: { hint: "Sure?" },
    });
    expect(questionChunks(row("pending"))[0]).toEqual({
      type: "tool-approval-request",
      approvalId: "apr_1",
      toolCallId: "call-1",
    });
  });
});
