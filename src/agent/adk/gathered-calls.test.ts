import {
  createEvent,
  type Event,
  FunctionTool,
  Gemini,
  type InvocationContext,
  LlmAgent,
  type LlmResponse,
  StreamingMode,
} from "@google/adk";
import type { Part } from "@google/genai";
import { describe, expect, it } from "vitest";
import { GatheredCalls } from "./gathered-calls.ts";

const agent = new LlmAgent({ name: "agent", model: new Gemini({ model: "gemini-2.5-flash", apiKey: "unused" }) });
function contextOf(streamingMode: StreamingMode, events: Event[] = []): InvocationContext {
  const session = { id: "chat", events };
  const context = { agent, invocationId: "run-1", branch: "left", session, runConfig: { streamingMode } };
  return context as unknown as InvocationContext;
}
const whole = contextOf(StreamingMode.NONE);
const streamed = contextOf(StreamingMode.SSE);
const ids = { usedIds: async (): Promise<string[]> => [], isInner: false };

const pay = new FunctionTool({ name: "pay", description: "Pays.", execute: () => ({}) });
const gather = () => new GatheredCalls({ pay });
const call = (id?: string, name = "pay"): Part => ({ functionCall: { name, ...(id !== undefined && { id }) } });
const said = (...parts: Part[]): LlmResponse => ({ content: { role: "model", parts } });
const usageMetadata = { totalTokenCount: 5 };
const idsOf = ({ content }: LlmResponse) => content?.parts?.map(({ functionCall }) => functionCall?.id);

describe("the calls of one model response", () => {
  it("stay where they are if no further piece follows", async () => {
    const response = said({ text: "Now." }, call("c1"), call("c2"));
    expect(await gather().take(response, whole, ids)).toEqual({ dropped: false });
    expect(response).toEqual(said({ text: "Now." }, call("c1"), call("c2")));
  });

  it("are put together in the last piece of a streamed response, with its usage", async () => {
    const gathered = gather();
    const first = { ...said({ text: "Now." }, call("c1")), usageMetadata };
    const second = { ...said(call("c2")), usageMetadata };
    const last: LlmResponse = { usageMetadata };
    await gathered.take(first, streamed, ids);
    expect(first).toEqual({ ...said({ text: "Now." }), usageMetadata: undefined });
    await gathered.take(second, streamed, ids);
    expect(second.content).toBeUndefined();
    expect(gathered.isEmpty).toBe(false);
    expect(await gathered.take(last, streamed, ids)).toEqual({ dropped: false });
    expect(last).toEqual({ ...said(call("c1"), call("c2")), usageMetadata });
    expect(gathered.isEmpty).toBe(true);
  });

  it("are dropped after one of them was held", async () => {
    const gathered = gather();
    await gathered.take(said(call("c1")), whole, ids);
    gathered.hold();
    const later = said({ text: "And." }, call("c2"));
    expect(await gathered.take(later, whole, ids)).toEqual({ dropped: true });
    expect(later).toEqual(said({ text: "And." }));
    expect(gathered.isEmpty).toBe(true);
  });
});

describe("usage without content", () => {
  it("is taken out after a call and counted separately, so that ADK does not ask again", async () => {
    const gathered = gather();
    await gathered.take(said(call("c1")), whole, ids);
    const last: LlmResponse = { usageMetadata };
    const { usage } = await gathered.take(last, whole, ids);
    expect(last.usageMetadata).toBeUndefined();
    expect(usage).toMatchObject({ invocationId: "run-1", author: "agent", branch: "left", usageMetadata });
  });

  it("stays in a response without calls, and beside an error", async () => {
    const silent: LlmResponse = { usageMetadata };
    expect(await gather().take(silent, whole, ids)).toEqual({ dropped: false });
    expect(silent).toEqual({ usageMetadata });
    const gathered = gather();
    await gathered.take(said(call("c1")), whole, ids);
    const failed: LlmResponse = { usageMetadata, errorCode: "429" };
    expect(await gathered.take(failed, whole, ids)).toEqual({ dropped: false });
    expect(failed.usageMetadata).toEqual(usageMetadata);
  });
});

describe("the id of a call", () => {
  const taken = async (response: LlmResponse, context = whole, how: Partial<typeof ids> = {}) => {
    await gather().take(response, context, { ...ids, ...how });
    return idsOf(response);
  };

  it("is the model's own if it is new in the session, and ADK's if it has none", async () => {
    expect(await taken(said(call("c1"), call()))).toEqual(["c1", undefined]);
  });

  it("is another one if the history, the ledger or the same response has it already", async () => {
    const events = [createEvent({ content: { role: "model", parts: [call("c1")] } })];
    const usedIds = async () => ["c2"];
    const [first, second, third, again] =
      (await taken(said(call("c1"), call("c2"), call("c3"), call("c3")), contextOf(StreamingMode.NONE, events), {
        usedIds,
      })) ?? [];
    expect([first, second, again]).toEqual(Array.from({ length: 3 }, () => expect.stringMatching(/^adk-/)));
    expect(third).toBe("c3");
    expect(new Set([first, second, third, again]).size).toBe(4);
  });

  it("is always another one in the session of an agent that is run as a tool", async () => {
    expect(await taken(said(call("c1")), whole, { isInner: true })).toEqual([expect.stringMatching(/^adk-/)]);
  });

  it("is not looked up in the ledger if the model gives none", async () => {
    const usedIds = () => Promise.reject(new Error("not asked"));
    expect(await taken(said(call()), whole, { usedIds })).toEqual([undefined]);
  });
});

describe("a call of a tool that does not exist", () => {
  it("gets a stand-in among the tools of the request", async () => {
    const tools = { pay };
    await new GatheredCalls(tools).take(said(call("c1", "fly")), whole, ids);
    expect(Object.keys(tools)).toEqual(["pay", "fly"]);
  });
});
