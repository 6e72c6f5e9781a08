import type { UIMessage, UIMessageChunk } from "ai";
import { expect, test } from "vitest";
import type { ApprovalView } from "../../protocol/index.ts";
import { viewOf, type ViewOptions } from "./view-of.ts";

const approval = {
  id: "apr",
  messageId: "m",
  toolCallId: "call",
  toolName: "pay",
  input: {},
  state: "expired",
} as unknown as ApprovalView;
const bridge: ViewOptions["bridge"] = {
  approval: async (owner, id) => (owner === "alice" && id === "apr" ? approval : undefined),
};

const expired: UIMessageChunk[] = [
  { type: "start", messageId: "m" },
  { type: "data-approval", id: "apr", data: { approvalId: "apr", toolCallId: "call", state: "expired" } },
  { type: "finish" },
];
const replay: UIMessage = { id: "m", role: "assistant", parts: [{ type: "text", text: "Earlier." }] };

/** The types of what a reader gets for a turn in which a question expires. */
async function read(options: Omit<ViewOptions, "bridge" | "owner">, owner = "alice"): Promise<string> {
  const view = viewOf({ bridge, owner, ...options });
  const seen: UIMessageChunk[] = [];
  for (const chunk of expired) seen.push(...(await view(chunk)));
  return seen.map(({ type }) => type).join(" ");
}

const plain = "start data-approval finish";
const asError = "start data-approval tool-output-error finish";
const asDenial = "start data-approval tool-approval-response tool-output-denied finish";

test.each([
  ["approval", false, plain],
  ["approval", true, asDenial],
  ["tool", false, asError],
  ["tool", true, asError],
] as const)("in the dialect %s, knowsDecisions=%s: %s", async (confirmation, knowsDecisions, expected) => {
  expect(await read({ confirmation, knowsDecisions })).toBe(expected);
  expect(await read({ confirmation, knowsDecisions, replay })).toBe(
    expected.replace("start", "start text-start text-delta text-end"),
  );
});

test("looks up approvals of the reader's owner only", async () => {
  expect(await read({ confirmation: "tool" }, "bob")).toBe(plain);
  expect(await read({ confirmation: "approval", knowsDecisions: true }, "bob")).toBe(plain);
});
