import type { ApprovalData } from "adk-stream-protocol/protocol";
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { cardsOf } from "./cards.ts";

/** The card of a call that has come to a state, after a person may have answered it in this page. */
function cardIn(state: ApprovalData["state"], given?: boolean) {
  const part = { type: "tool-pay", toolCallId: "c", state: "approval-responded", input: {}, approval: { id: "a" } };
  const messages = [{ id: "m", role: "assistant", parts: [part] }] as unknown as UIMessage[];
  const data = new Map([["a", { approvalId: "a", toolName: "pay", state } as unknown as ApprovalData]]);
  const answers = new Map(given === undefined ? [] : [["a", { approved: given }]]);
  return cardsOf(messages, { data, rows: new Map(), running: new Set(), delivering: false, given: answers }).get("a");
}

test.each<[ApprovalData["state"], boolean | undefined, boolean]>([
  ["succeeded", false, true],
  ["approved", false, true],
  ["denied", true, true],
  ["succeeded", true, false],
  ["denied", false, false],
  ["denied", undefined, false],
  ["pending", true, false],
  ["expired", true, false],
  ["cancelled", false, false],
])("%s after the answer %s: decided elsewhere is %s", (state, given, isElsewhere) => {
  expect(cardIn(state, given)?.decidedElsewhere ?? false).toBe(isElsewhere);
});
