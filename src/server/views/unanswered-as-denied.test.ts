import type { UIMessage, UIMessageChunk } from "ai";
import { expect, test } from "vitest";
import type { ApprovalState, ApprovalView } from "../../protocol/index.ts";
import { unansweredAsDenied } from "./unanswered-as-denied.ts";

const view = (fields: Partial<ApprovalView> = {}) => ({ messageId: "m", ...fields }) as ApprovalView;
const notice = (state: ApprovalState, id = "1"): UIMessageChunk => ({
  type: "data-approval",
  id: `apr-${id}`,
  data: {
    approvalId: `apr-${id}`,
    toolCallId: `call-${id}`,
    toolName: "pay",
    state,
    errorText: "It was not answered in time.",
  },
});
const start: UIMessageChunk = { type: "start", messageId: "m" };
const step: UIMessageChunk = { type: "start-step" };

/** The types of what a reader gets. */
async function read(chunks: UIMessageChunk[], approval = view(), before?: UIMessage): Promise<string> {
  const translate = unansweredAsDenied(
    async (chunk) => [chunk],
    async () => approval,
    before,
  );
  const got: UIMessageChunk[] = [];
  for (const chunk of chunks) got.push(...(await translate(chunk)));
  return got.map(({ type }) => type).join(" ");
}

test.each(["expired", "cancelled"] as const)("a question that is %s is closed where it stands", async (state) => {
  expect(await read([start, notice(state), step])).toBe(
    "start data-approval tool-approval-response tool-output-denied start-step",
  );
});

test("two of them are both closed", async () => {
  expect(await read([start, notice("expired", "1"), notice("expired", "2"), step])).toBe(
    "start data-approval tool-approval-response tool-output-denied data-approval tool-approval-response tool-output-denied start-step",
  );
});

test("says why, as the notice does", async () => {
  const translate = unansweredAsDenied(
    async () => [],
    async () => view(),
  );
  for (const chunk of [start, notice("expired")]) await translate(chunk);
  expect(await translate(step)).toEqual([
    { type: "tool-approval-response", approvalId: "apr-1", approved: false, reason: "It was not answered in time." },
    { type: "tool-output-denied", toolCallId: "call-1" },
  ]);
});

test("once is enough", async () => {
  expect(await read([start, notice("expired"), step, notice("expired"), step])).toBe(
    "start data-approval tool-approval-response tool-output-denied start-step data-approval start-step",
  );
});

test("the reply to a late answer settles it as that answer was", async () => {
  const failed: UIMessageChunk = { type: "tool-output-error", toolCallId: "call-1", errorText: "Too late." };
  expect(await read([start, notice("expired"), failed, step])).toBe("start data-approval tool-output-error start-step");
  expect(await read([start, failed, step, notice("expired"), step])).toBe(
    "start tool-output-error start-step data-approval start-step",
  );
});

test.each(["pending", "approved", "denied", "failed", "indeterminate"] as const)("%s is left alone", async (state) => {
  expect(await read([start, notice(state), step])).toBe("start data-approval start-step");
});

test("a question in another message is not this reader's to close", async () => {
  expect(await read([start, notice("cancelled"), step], view({ messageId: "older" }))).toBe(
    "start data-approval start-step",
  );
});

test("a call that was approved and then not started in time was answered", async () => {
  expect(await read([start, notice("expired"), step], view({ decidedAt: 1 }))).toBe("start data-approval start-step");
});

test("what the replayed message shows as settled stays", async () => {
  const part = {
    type: "tool-pay",
    toolCallId: "call-1",
    state: "output-error",
    input: {},
    errorText: "Late.",
  } as const;
  expect(await read([start, notice("expired"), step], view(), { id: "m", role: "assistant", parts: [part] })).toBe(
    "start data-approval start-step",
  );
});
