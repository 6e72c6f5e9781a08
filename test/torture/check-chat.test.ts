import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import type { Approval, StoredEvent } from "../../src/stores/index.ts";
import { type ChatState, checkChat } from "./check-chat.ts";
import { resultOf } from "./settings.ts";

const result = { done: resultOf("a") };
const response = { functionResponse: { name: "idempotent", response: result } };
const note = { text: `[context, not from the user] The earlier call … ended as succeeded: ${JSON.stringify(result)}` };
const message: UIMessage = { id: "m", role: "assistant", parts: [] };

/** What is said about how often the model was told the result of a call. */
function saidOf(parts: readonly object[], { told = true, messages = [message] } = {}): string[] {
  const call = { id: "apr", chat: "c", session: "c", toolName: "idempotent", input: '{"name":"a"}', messageId: "m" };
  const chat: ChatState = {
    ...{ id: "c", name: "chat", log: [], audit: [], effects: new Map() },
    messages: messages.map((each) => ({ message: each, sequence: 1, at: 0, size: 0 })),
    approvals: [{ ...call, state: "succeeded", outcome: result, told } as unknown as Approval],
    events: new Map([["c", [{ position: 1, event: { content: { parts } } } as unknown as StoredEvent]]]),
  };
  return checkChat(chat, []).filter((violation) => violation.includes("was told"));
}

test("a result may be in one response and in one note", () => {
  expect(saidOf([response])).toEqual([]);
  expect(saidOf([note])).toEqual([]);
  expect(saidOf([response, note])).toEqual([]);
});

test("a result that the model has twice in the same way is a violation", () => {
  expect(saidOf([response, response])).toHaveLength(1);
  expect(saidOf([note, note])).toHaveLength(1);
});

test("a result that counts as told and is nowhere is a violation, unless its message was withdrawn", () => {
  expect(saidOf([])).toHaveLength(1);
  expect(saidOf([], { told: false })).toEqual([]);
  expect(saidOf([], { messages: [] })).toEqual([]);
});
