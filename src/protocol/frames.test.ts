import { describe, expect, test } from "vitest";
import { isAiSdkFrame, parseFrame, requestIdOf } from "./frames.ts";

const messages = [{ id: "u", role: "user", parts: [{ type: "text", text: "hello" }] }];

const types = "message, tool_result, attach, interrupt, ping, audio_control, audio_chunk, send, resume, abort";

/** The sentence a frame is refused with. */
function refusal(value: unknown): string {
  try {
    parseFrame(value);
  } catch (error) {
    return (error as Error).message;
  }
  return "taken";
}

describe("a frame", () => {
  test.each([
    ["message", { id: "chat-1", messages }],
    ["tool_result", { toolCallId: "call-1", result: { confirmed: true } }],
    ["attach", { id: "chat-1", after: 7 }],
    ["interrupt", { reason: "enough" }],
    ["ping", { timestamp: 1234.5 }],
    ["audio_control", { action: "start" }],
    ["audio_chunk", { chunk: "AAAA" }],
  ])("%s means the same flat and inside data", (type, fields) => {
    const flat = parseFrame({ type, version: "1.0", ...fields });
    expect(parseFrame({ type, version: "1.0", data: fields })).toEqual(flat);
    expect(parseFrame({ type, ...fields })).toMatchObject({ ...(type === "message" ? { id: "chat-1" } : fields) });
  });

  test.each([
    ["send", { id: "chat-1", messages, trigger: "submit-message", headers: {}, body: {} }],
    ["resume", { id: "chat-1", lastSequence: 3 }],
    ["abort", {}],
  ])("%s is one of AI SDK's", (type, fields) => {
    const frame = { type, requestId: "r", ...fields };
    expect(parseFrame(frame)).toMatchObject({ type, requestId: "r" });
    expect(isAiSdkFrame(frame)).toBe(true);
  });

  test.each([false, 0, null, "", []])("a result may be %j", (result) => {
    expect(parseFrame({ type: "tool_result", toolCallId: "c", result })).toMatchObject({ result });
  });

  test.each([
    [[], "A frame must be a JSON object with a type, not []."],
    [null, "A frame must be a JSON object with a type, not null."],
    ["ping", 'A frame must be a JSON object with a type, not "ping".'],
    [{}, `The frame has no type; the types are ${types}.`],
    [{ type: "constructor" }, `There is no frame of type "constructor"; the types are ${types}.`],
    [{ type: "x".repeat(500) }, `There is no frame of type "${"x".repeat(62)}…; the types are ${types}.`],
    [{ type: "ping", timestamp: 1, version: "2.0" }, 'This server speaks version "1.0" of the frames; "2.0" came.'],
    [{ type: "ping", data: { timestamp: 1, version: 1 } }, 'This server speaks version "1.0" of the frames; 1 came.'],
    [{ type: "tool_result", toolCallId: "c" }, "result: is missing."],
    [{ type: "attach", id: "c", after: -1 }, /^after: /],
    [{ type: "attach", id: "c", after: 1.5 }, /^after: /],
    [{ type: "message", id: "c" }, /^messages: /],
    [{ type: "message", id: "", messages }, /^id: /],
    [{ type: "send", requestId: "r", messages }, /^id: is missing; it names the chat\.$/],
    [{ type: "send", id: null, requestId: "r", messages }, /^id: is missing/],
    [{ type: "send", id: 5, requestId: "r", messages }, /^id: .*expected string/],
    [{ type: "resume", requestId: "r" }, /^id: is missing/],
    [{ type: "send", id: "c", messages }, /^requestId: is missing; it tells the reply to this frame from others\.$/],
    [{ type: "abort" }, /^requestId: is missing/],
    [{ type: "send", data: { requestId: "r", id: "c", messages } }, /^id: /],
  ])("%j is refused with a sentence", (value, sentence) => {
    expect(refusal(value)).toMatch(sentence);
  });

  test("names its request even where it is refused", () => {
    expect(requestIdOf({ type: "nonsense", requestId: "r" })).toBe("r");
    expect(requestIdOf({ type: "message", data: { requestId: "r" } })).toBe("r");
    for (const value of [null, [], {}, { requestId: 1 }, { requestId: "r".repeat(300) }])
      expect(requestIdOf(value)).toBeUndefined();
  });
});
