import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import type { Approval, StoredEvent } from "../../src/stores/index.ts";
import { type ChatState, checkChat } from "./check-chat.ts";
import { resultOf } from "./settings.ts";

const result = { done: resultOf("a") };
/** An event of the model's history with the result of a call: the response to it, or a note about it. */
const responseTo = (id: string) => ({
  content: { parts: [{ functionResponse: { id, name: "idempotent", response: result } }] },
});
const noteAbout = (about: string) => ({
  content: { parts: [{ text: `The earlier call … ended as succeeded: ${JSON.stringify(result)}` }] },
  customMetadata: { about },
});
const [response, note] = [responseTo("call"), noteAbout("call")];
const message: UIMessage = { id: "m", role: "assistant", parts: [] };

/** What is said about how often the model was told the result of a call. */
function saidOf(history: readonly object[], { told = true, messages = [message] } = {}): string[] {
  const call = {
    ...{ id: "apr", chat: "c", session: "c", toolCallId: "call", messageId: "m" },
    ...{ toolName: "idempotent", input: '{"name":"a"}' },
  };
  const chat: ChatState = {
    ...{ id: "c", name: "chat", log: [], audit: [], effects: new Map() },
    messages: messages.map((each) => ({ message: each, sequence: 1, at: 0, size: 0 })),
    approvals: [{ ...call, state: "succeeded", outcome: result, told } as unknown as Approval],
    events: new Map([["c", history.map((event, position) => ({ position, event }) as unknown as StoredEvent)]]),
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

test("the result of another call for the same job is none of this call", () => {
  expect(saidOf([response, responseTo("again"), note, noteAbout("again")])).toEqual([]);
});

test("a result that counts as told and is nowhere is a violation, unless its message was withdrawn", () => {
  expect(saidOf([])).toHaveLength(1);
  expect(saidOf([], { told: false })).toEqual([]);
  expect(saidOf([], { messages: [] })).toEqual([]);
});
