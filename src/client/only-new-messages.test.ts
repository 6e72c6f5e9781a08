import type { UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import { onlyNewMessages } from "./only-new-messages.ts";

const user = (id: string, text: string): UIMessage => ({ id, role: "user", parts: [{ type: "text", text }] });
const assistant = (id: string, ...parts: object[]): UIMessage => ({
  id,
  role: "assistant",
  parts: [{ type: "step-start" }, ...parts] as UIMessage["parts"],
});
const call = { type: "tool-pay", toolCallId: "c1", input: { amount: 50 } };
const sent = (
  messages: UIMessage[],
  more: { trigger?: "regenerate-message"; messageId?: string; body?: object } = {},
) => onlyNewMessages({ id: "chat", trigger: "submit-message", messageId: undefined, messages, ...more }).body;

describe("onlyNewMessages", () => {
  it("sends a new message, and the one before it without its parts", () => {
    const history = [user("u1", "hello"), assistant("a1", { type: "text", text: "Hi." }), user("u2", "pay")];
    expect(sent(history, { body: { theme: "dark", id: "not this" } })).toEqual({
      theme: "dark",
      id: "chat",
      trigger: "submit-message",
      messageId: undefined,
      messages: [{ id: "a1", role: "assistant", parts: [] }, history[2]],
    });
    expect(sent(history.slice(0, 1))).toMatchObject({ messages: [history[0]] });
    expect(sent(history.slice(0, 1), { messageId: "u1" })).toMatchObject({ messageId: "u1", messages: [history[0]] });
  });

  it("sends answers without the rest of their message", () => {
    const answered = { ...call, state: "approval-responded", approval: { id: "apr1", approved: true, reason: "ok" } };
    const message = assistant("a1", { type: "text", text: "Shall I?" }, answered, {
      ...call,
      toolCallId: "c2",
      state: "approval-requested",
      approval: { id: "apr2" },
    });
    const { input: _input, ...part } = answered;
    expect(sent([user("u1", "pay"), message], { messageId: "a1" })).toEqual({
      id: "chat",
      trigger: "submit-message",
      messageId: "a1",
      messages: [{ id: "a1", role: "assistant", parts: [part] }],
    });
  });

  it("sends the answer in an older message that messageId names", () => {
    const answered = { ...call, state: "approval-responded", approval: { id: "apr1", approved: false } };
    const messages = [user("u1", "pay"), assistant("a1", answered), user("u2", "hello"), assistant("a2")];
    expect(sent(messages, { messageId: "a1" })).toMatchObject({
      messages: [{ id: "a1", parts: [{ approval: { id: "apr1", approved: false } }] }],
    });
  });

  it("sends results of browser tools, each once", () => {
    const done = { ...call, state: "output-available", output: { ok: 1 } };
    const approved = { ...done, approval: { id: "apr1", approved: true } };
    const failed = { ...call, toolCallId: "c2", state: "output-error", errorText: "No." };
    const waiting = { type: "data-approval", id: "apr1", data: { approvalId: "apr1", state: "waiting" } };
    const message = assistant("a1", approved, failed, waiting, { type: "step-start" }, done);
    expect(sent([message])).toMatchObject({
      messages: [
        { parts: [{ toolCallId: "c1", approval: { approved: true }, output: { ok: 1 } }, { toolCallId: "c2" }] },
      ],
    });
  });

  it("does not send what the server has reported itself", () => {
    const output = {
      ...call,
      state: "output-available",
      output: "x".repeat(1000),
      approval: { id: "a", approved: true },
    };
    const denied = { ...call, toolCallId: "c2", state: "output-denied", approval: { id: "b", approved: false } };
    const succeeded = { type: "data-approval", id: "a", data: { approvalId: "a", state: "succeeded" } };
    expect(sent([assistant("a1", output, denied, succeeded)])).toMatchObject({ messages: [{ id: "a1", parts: [] }] });
  });

  it("sends an answer that came too late, so that its call is settled on the page", () => {
    const answered = { ...call, state: "approval-responded", approval: { id: "a", approved: true } };
    const expired = { type: "data-approval", id: "a", data: { approvalId: "a", state: "expired" } };
    expect(sent([assistant("a1", answered, expired)])).toMatchObject({ messages: [{ parts: [{ toolCallId: "c1" }] }] });
  });

  it("sends the last message without its parts if a reply is made again", () => {
    expect(sent([user("u1", "hello")], { trigger: "regenerate-message", messageId: "a1" })).toEqual({
      id: "chat",
      trigger: "regenerate-message",
      messageId: "a1",
      messages: [{ id: "u1", role: "user", parts: [] }],
    });
  });

  it("sends nothing of an empty chat", () => {
    expect(sent([])).toMatchObject({ messages: [] });
  });
});
