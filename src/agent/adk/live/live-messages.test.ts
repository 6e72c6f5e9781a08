import type { LlmResponse } from "@google/adk";
import { FinishReason, LiveServerMessage, type Part, TurnCompleteReason } from "@google/genai";
import { describe, expect, it } from "vitest";
import { metadataOf } from "../event-metadata.ts";
import { LiveCalls, liveMessage, liveResponses } from "./live-messages.ts";

const message = (fields: Partial<LiveServerMessage>): LiveServerMessage =>
  Object.assign(new LiveServerMessage(), fields);
const spoken = (...parts: Part[]) => message({ serverContent: { modelTurn: { role: "model", parts } } });
const calls = (...made: { id?: string; name: string }[]) => message({ toolCall: { functionCalls: made } });
const content = (...parts: Part[]) => ({ role: "model", parts });

/** The responses to messages that arrive on one connection. */
function read(...messages: LiveServerMessage[]): LlmResponse[] {
  const arrivals = new LiveCalls();
  const responses = liveResponses("live-model");
  return messages.flatMap((each) => [...responses(arrivals.take(each))]);
}
/** The same without the model's name, which is in every response. */
const readPlain = (...messages: LiveServerMessage[]) =>
  read(...messages).map((response) => {
    delete response.modelVersion;
    return response;
  });

describe("text of a live model", () => {
  it("comes in pieces, and whole when the turn ends", () => {
    const turn = [spoken({ text: "Hel" }), spoken({ text: "lo." }), message({ serverContent: { turnComplete: true } })];
    expect(readPlain(...turn)).toEqual([
      { content: content({ text: "Hel" }), partial: true },
      { content: content({ text: "lo." }), partial: true },
      { content: content({ text: "Hello." }) },
      { turnComplete: true },
    ]);
    expect(new Set(read(...turn).map(({ modelVersion }) => modelVersion))).toEqual(new Set(["live-model"]));
  });

  it("is kept apart from thoughts and from other parts", () => {
    const picture: Part = { inlineData: { mimeType: "image/png", data: "AAAA" } };
    const whole = readPlain(spoken({ text: "Hm.", thought: true }, { text: "See: " }, picture, { text: "Nice." }));
    expect(whole.filter(({ partial }) => !partial)).toEqual([
      { content: content({ text: "Hm.", thought: true }) },
      { content: content({ text: "See: " }) },
      { content: content(picture) },
    ]);
  });

  it("is whole before a call and before an interruption", () => {
    const [, text, call] = readPlain(spoken({ text: "Let me look." }), calls({ name: "look" }));
    expect(text).toEqual({ content: content({ text: "Let me look." }) });
    expect(call?.content?.parts?.[0]?.functionCall?.name).toBe("look");
    expect(readPlain(spoken({ text: "Hel" }), message({ serverContent: { interrupted: true } })).slice(1)).toEqual([
      { content: content({ text: "Hel" }) },
      { interrupted: true },
    ]);
  });

  it("may be a transcription", () => {
    const outputTranscription = { text: "Hello.", finished: true };
    const inputTranscription = { text: "Hi", finished: false };
    expect(readPlain(message({ serverContent: { inputTranscription, outputTranscription } }))).toEqual([
      { inputTranscription, partial: true },
      { outputTranscription, partial: false },
    ]);
  });
});

describe("usage of a live model", () => {
  const usageMetadata = { promptTokenCount: 9, responseTokenCount: 3, totalTokenCount: 12 };
  const counted = { promptTokenCount: 9, candidatesTokenCount: 3, totalTokenCount: 12 };

  it("comes with the calls or the end of the turn that it counts, once", () => {
    const [call, end] = readPlain(
      message({ usageMetadata, toolCall: { functionCalls: [{ name: "look" }] } }),
      message({ serverContent: { turnComplete: true } }),
    );
    expect(call?.usageMetadata).toEqual(counted);
    expect(end).not.toHaveProperty("usageMetadata");
    expect(readPlain(message({ usageMetadata }), message({ serverContent: { turnComplete: true } }))).toEqual([
      { turnComplete: true, usageMetadata: counted },
    ]);
  });
});

describe("the end of a live model's turn", () => {
  it.each([
    [TurnCompleteReason.NEED_MORE_INPUT, FinishReason.STOP],
    [TurnCompleteReason.MALFORMED_FUNCTION_CALL, FinishReason.MALFORMED_FUNCTION_CALL],
    [TurnCompleteReason.PROHIBITED_INPUT_CONTENT, FinishReason.SAFETY],
  ])("with the reason %s is %s", (turnCompleteReason, finishReason) => {
    expect(readPlain(message({ serverContent: { turnComplete: true, turnCompleteReason } }))).toEqual([
      { turnComplete: true, finishReason },
    ]);
  });

  it("names the calls that had no response then, and its sources", () => {
    const groundingMetadata = { groundingChunks: [] };
    const [call, end] = readPlain(
      calls({ name: "look" }),
      message({ serverContent: { turnComplete: true, groundingMetadata } }),
    );
    const id = call?.content?.parts?.[0]?.functionCall?.id;
    expect(metadataOf(end ?? {}).owed).toEqual([id]);
    expect(end?.groundingMetadata).toEqual(groundingMetadata);
  });

  it("is announced before the server closes", () => {
    const [announced] = readPlain(message({ goAway: { timeLeft: "5s" } }));
    expect(metadataOf(announced ?? {}).notice).toEqual({ goAway: true });
  });
});

describe("the calls of a live connection", () => {
  it("get ids of their own, although a server may use an id twice", () => {
    const made = new LiveCalls();
    const first = made.take(calls({ id: "1", name: "look" }, { id: "1", name: "pay" }));
    const second = made.take(spoken({ functionCall: { id: "1", name: "look" } }));
    const all = [...first.calls, ...second.calls].map(({ id }) => id);
    expect(new Set(all).size).toBe(3);
    expect(all.every((id) => id?.startsWith("live-"))).toBe(true);
    expect(second.owed).toEqual(all);
  });

  it("are answered with the id and the name that the server used", () => {
    const made = new LiveCalls();
    const [call] = made.take(calls({ id: "1", name: "look" })).calls;
    const response = { found: true };
    expect(made.respond({ id: call?.id, name: "other", response })).toEqual({ id: "1", name: "look", response });
    expect(made.take(message({})).owed).toEqual([]);
    expect(made.respond({ id: "unknown", name: "other", response })).toEqual({
      id: undefined,
      name: "other",
      response,
    });
  });

  it("can be cancelled by the server until they are answered", () => {
    const made = new LiveCalls();
    const [look, pay] = made.take(calls({ id: "1", name: "look" }, { id: "2", name: "pay" })).calls;
    made.respond({ id: pay?.id, name: "pay" });
    const { cancelled, owed } = made.take(message({ toolCallCancellation: { ids: ["1", "2"] } }));
    expect(cancelled).toEqual([look?.id]);
    expect(owed).toEqual([]);
    const [, notice] = read(calls({ id: "1", name: "look" }), message({ toolCallCancellation: { ids: ["1"] } }));
    expect(metadataOf(notice ?? {}).notice?.cancelled).toHaveLength(1);
  });

  it("are not repeated as parts of what the model says", () => {
    expect(readPlain(spoken({ functionCall: { id: "1", name: "look" } }))).toHaveLength(1);
    expect(readPlain(spoken({ functionResponse: { id: "1", name: "look" } }))).toEqual([]);
  });
});

describe("a message of the server", () => {
  it.each([
    {},
    { setupComplete: {} },
    { toolCall: { functionCalls: [{ name: "look", more: 1 }] } },
    { toolCall: null, serverContent: { modelTurn: { parts: null } } },
  ])("is readable with fields that are unknown or absent: %j", (value) => {
    expect(liveMessage.safeParse(value).success).toBe(true);
  });

  it.each([
    { toolCall: { functionCalls: [{ id: "1" }] } },
    { toolCall: { functionCalls: "look" } },
    { toolCallCancellation: { ids: [1] } },
    { serverContent: { modelTurn: { parts: ["text"] } } },
  ])("is not readable with fields of another kind: %j", (value) => {
    expect(liveMessage.safeParse(value).success).toBe(false);
  });
});
