import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BridgeError, parseChatRequest } from "../protocol/index.ts";
import { interpret } from "./interpret.ts";

const read = (body: object) => interpret(parseChatRequest({ id: "chat", ...body }), () => "new-id");
const user = (...parts: object[]) => ({ id: "u", role: "user", parts });
const assistant = (...parts: object[]) => ({ id: "a", role: "assistant", parts });
const text = (words: string) => ({ type: "text", text: words });
const pay = (more: object) => ({ type: "tool-pay", toolCallId: "call", input: {}, ...more });
const confirmation = (more: object) => ({ type: "tool-adk_request_confirmation", toolCallId: "apr", ...more });
const answersOf = (...parts: object[]) => read({ messages: [assistant(...parts)] });

describe("a message", () => {
  test("is the last one, with what a model can use of it", () => {
    const image = { type: "image", data: "AAAA", media_type: "image/png" };
    const file = { type: "file", url: "https://example.com/a.pdf", mediaType: "application/pdf", filename: "a.pdf" };
    const messages = [
      user(text("old")),
      assistant(text("hi")),
      user(text("new"), text(""), file, image, { type: "data-x", data: 1 }),
    ];
    expect(read({ messages })).toEqual({
      type: "message",
      message: {
        id: "u",
        role: "user",
        parts: [text("new"), file, { type: "file", url: "data:image/png;base64,AAAA", mediaType: "image/png" }],
      },
      after: "a",
    });
  });

  test.each([
    ["content as text", { role: "user", content: "hi" }],
    ["content as parts", { role: "user", content: [text("hi")] }],
    ["an empty id", { id: "", role: "user", parts: [text("hi")] }],
  ])("with %s gets an id", (_name, message) => {
    expect(read({ messages: [message] })).toEqual({
      type: "message",
      message: { id: "new-id", role: "user", parts: [text("hi")] },
    });
  });

  test("stays a message when an edit names it", () => {
    expect(read({ messages: [user(text("edited"))], messageId: "u" })).toMatchObject({
      type: "message",
      message: { id: "u" },
    });
  });

  test.each([
    ["nothing", user()],
    ["only unknown parts", user({ type: "data-x", data: 1 })],
    ["another role", { role: "system", parts: [text("obey")] }],
  ])("of %s is refused", (_name, message) => {
    expect(() => read({ messages: [message] })).toThrow(BridgeError);
  });

  test("is needed", () => {
    expect(() => interpret({ messages: [], trigger: "submit-message" })).toThrow("at least one message");
  });

  test("asks for the reply again", () => {
    expect(read({ messages: [user(text("hi"))], trigger: "regenerate-message", messageId: "a" })).toEqual({
      type: "regenerate",
      messageId: "a",
    });
    expect(read({ messages: [user(text("hi"))], trigger: "regenerate-message" })).toEqual({
      type: "regenerate",
      messageId: undefined,
      last: "u",
    });
  });
});

describe("an answer", () => {
  const approved = { id: "apr", approved: true };
  const shapes: [string, object, object][] = [
    ["1: approval-responded", pay({ state: "approval-responded", approval: approved }), approved],
    [
      "1: as a dynamic tool",
      { ...pay({ state: "approval-responded", approval: approved }), type: "dynamic-tool", toolName: "pay" },
      approved,
    ],
    [
      "1: a no with a reason",
      pay({ approval: { id: "apr", approved: false, reason: "no" } }),
      { id: "apr", approved: false, reason: "no" },
    ],
    ["1: without the approval's id", pay({ approval: { approved: true } }), { id: "call", approved: true }],
    [
      "2: with the output",
      pay({ state: "output-available", output: 1, approval: approved }),
      { ...approved, result: { output: 1 } },
    ],
    [
      "2: with an error",
      pay({ state: "output-error", errorText: "x", approval: approved }),
      { ...approved, result: { errorText: "x" } },
    ],
    [
      "2: an output alone",
      pay({ state: "output-available", output: { a: 1 } }),
      { id: "call", result: { output: { a: 1 } } },
    ],
    ["3: confirmed", confirmation({ state: "output-available", output: { confirmed: true } }), approved],
    [
      "3: with a reason",
      confirmation({ output: { confirmed: false, reason: "no" } }),
      { id: "apr", approved: false, reason: "no" },
    ],
    ["3: approved", confirmation({ approval: { approved: true } }), approved],
    [
      "3: approved, named by the approval",
      { ...confirmation({ approval: approved }), toolCallId: undefined },
      approved,
    ],
    [
      "4: a result for the confirmation",
      { type: "tool-result", toolCallId: "apr", result: { confirmed: true } },
      approved,
    ],
    [
      "5: a result for the call",
      { type: "tool-result", toolCallId: "call", result: { approved: false, user_message: "no" } },
      { id: "call", approved: false, reason: "no" },
    ],
    [
      "5: a browser tool's result",
      { type: "tool-result", toolCallId: "call", result: "here" },
      { id: "call", result: { output: "here" } },
    ],
  ];
  test.each(shapes)("%s", (_name, part, answer) => {
    const answers = [answer];
    expect(answersOf(part)).toEqual({ type: "answers", answers, messageId: "a" });
    expect(read({ messages: [user(part)] })).toEqual({ type: "answers", answers });
  });

  test("is looked for in the message that is named, and in no other", () => {
    const messages = [
      assistant(pay({ approval: approved })),
      user(text("hi")),
      { ...assistant(text("hello")), id: "b" },
    ];
    expect(read({ messages, messageId: "a" })).toEqual({ type: "answers", answers: [approved], messageId: "a" });
    expect(read({ messages, messageId: "b" })).toEqual({ type: "answers", answers: [], messageId: "b" });
    expect(read({ messages: [...messages, user(text("more"))] })).toMatchObject({ type: "message" });
  });

  test.each([
    ["an open call", pay({ state: "input-available" })],
    ["an open question", pay({ state: "approval-requested", approval: { id: "apr" } })],
    ["an open confirmation", confirmation({ state: "input-available", input: {} })],
    ["a confirmation of nothing", { type: "tool-adk_request_confirmation", output: { confirmed: true } }],
    ["a settled denial", pay({ state: "output-denied", approval: { id: "apr", approved: false } })],
    ["a result that is not the last", pay({ state: "output-available", output: 1, preliminary: true })],
    ["text", text("yes, approved: true")],
  ])("is not %s", (_name, part) => {
    expect(answersOf(part)).toEqual({ type: "answers", answers: [], messageId: "a" });
  });

  test("does not come with text", () => {
    expect(() => read({ messages: [user(text("ok"), confirmation({ output: { confirmed: true } }))] })).toThrow(
      "not both",
    );
  });

  test("A11: is true or false, or decides nothing", () => {
    const carriers = [
      (value: unknown) => pay({ state: "approval-responded", approval: { id: "apr", approved: value } }),
      (value: unknown) => pay({ state: "output-available", output: 1, approval: { id: "apr", approved: value } }),
      (value: unknown) => confirmation({ state: "output-available", output: { confirmed: value } }),
      (value: unknown) => confirmation({ state: "output-available", output: value }),
      (value: unknown) => confirmation({ approval: { approved: value } }),
      (value: unknown) => ({ type: "tool-result", toolCallId: "apr", result: { confirmed: value } }),
      (value: unknown) => ({ type: "tool-result", toolCallId: "apr", result: { approved: value } }),
      (value: unknown) => ({ type: "tool-result", toolCallId: "apr", result: value }),
    ];
    const values = fc.oneof(fc.jsonValue(), fc.constantFrom("true", "false", "yes", 1, 0, null, {}, [true], [], ""));
    const undecided = values.filter((value) => typeof value !== "boolean" && !hasDecision(value));
    fc.assert(
      fc.property(fc.constantFrom(...carriers), undecided, (carry, value) => {
        const submission = outcomeOf(() => answersOf(carry(value)));
        if (submission instanceof BridgeError) expect(submission.code).toBe("invalid");
        else expect(JSON.stringify(submission)).not.toContain('"approved":');
      }),
    );
  });

  test("has a reason of a bearable length", () => {
    const reason = "x".repeat(4001);
    expect(() => answersOf(pay({ approval: { id: "apr", approved: true, reason } }))).toThrow("longer than 4000");
  });
});

/** `{confirmed: true}` inside the value would be an answer after all. */
function hasDecision(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return ["approved", "confirmed"].some((key) => typeof (value as Record<string, unknown>)[key] === "boolean");
}

function outcomeOf<T>(run: () => T): T | BridgeError {
  try {
    return run();
  } catch (error) {
    if (error instanceof BridgeError) return error;
    throw error;
  }
}
