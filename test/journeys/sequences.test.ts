import { call, finish, text, thought, usage } from "adk-stream-protocol/testing";
import { describe, expect, it } from "vitest";
import { majors } from "../fixtures/stock-chat.ts";
import { done, over, paid, saying, stories, tell, tellStory } from "../fixtures/stories.ts";
import { storeKinds } from "../fixtures/store-kinds.ts";
import {
  afterTools,
  answer as answerRaw,
  asked,
  messagesOf,
  openWorld,
  say,
  sequence,
  textOf,
} from "../fixtures/world.ts";

describe("a chat that sends by itself after answers and after results", () => {
  it.each(stories)("sends nothing twice: $name", async (story) => {
    const { world, replies } = await tellStory(story, majors[1][1], "SSE", "either");
    expect(replies.map(sequence)).toEqual(story.expect.map((line) => over("SSE", line)));
    expect(world.payments).toEqual(story.payments ?? []);
  });
});

describe("the end of a reply", () => {
  const counts = {
    promptTokenCount: 11,
    candidatesTokenCount: 7,
    thoughtsTokenCount: 2,
    cachedContentTokenCount: 3,
    totalTokenCount: 20,
  };
  const counted = { inputTokens: 11, outputTokens: 9, totalTokens: 20, reasoningTokens: 2, cachedInputTokens: 3 };

  it("has the usage with AI SDK's names, and the model's version", async () => {
    const world = await openWorld(saying(thought("Hm."), text("Four."), usage(counts)));
    expect((await say(world, "hello")).chunks.at(-1)).toEqual({
      type: "finish",
      finishReason: "stop",
      messageMetadata: { usage: counted, modelVersion: "gemini-2.5-flash" },
    });
  });

  it.each(storeKinds)("counts the tokens of every model call of its message, and of no other: $name", async (kind) => {
    const world = await openWorld({
      ...kind.options(),
      rules: [
        { when: afterTools.when!, say: [text("Done."), usage(counts)] },
        { when: /weather/, say: [call("get_weather", { location: "Tokyo" }), usage(counts)] },
        { when: /pay/, say: [call("process_payment", { amount: 50, recipient: "Hanako" }), usage(counts)] },
      ],
    });
    const twice = { inputTokens: 22, outputTokens: 18, totalTokens: 40, reasoningTokens: 4, cachedInputTokens: 6 };
    expect((await say(world, "weather")).chunks.at(-1)).toMatchObject({ messageMetadata: { usage: twice } });
    const question = await say(world, "pay");
    expect(question.chunks.at(-1)).toMatchObject({ messageMetadata: { usage: counted } });
    await world.restart();
    const reply = await answerRaw(world, [{ ...asked(question), approved: true }]);
    expect(reply.chunks.at(-1)).toMatchObject({ messageMetadata: { usage: twice, modelVersion: "gemini-2.5-flash" } });
    expect((await messagesOf(world)).at(-1)).toMatchObject({ metadata: { usage: twice } });
  });

  it("keeps the usage of the message in a reply without a model call", async () => {
    const world = await openWorld({ rules: [{ say: [call("get_location"), usage(counts)] }] });
    const question = asked(await say(world, "where"));
    const reply = await answerRaw(world, [{ ...question, approved: true, toolName: "get_location" }]);
    expect(reply.chunks.at(-1)).toMatchObject({ messageMetadata: { usage: counted } });
    expect(world.gemini.requests).toHaveLength(1);
  });

  it.each([
    ["STOP", "stop"],
    ["MAX_TOKENS", "length"],
    ["SAFETY", "content-filter"],
    ["PROHIBITED_CONTENT", "content-filter"],
    ["OTHER", "other"],
  ] as const)("translates %s to AI SDK's %s", async (reason, finishReason) => {
    const world = await openWorld(saying(text("Well."), finish(reason)));
    expect((await say(world, "hello")).chunks.at(-1)).toMatchObject({ type: "finish", finishReason });
  });

  it("has finishReason tool-calls while a call waits, and the reply continues when the last call is settled", async () => {
    const world = await openWorld();
    const question = await say(world, "two payments");
    expect(question.chunks.at(-1)).toMatchObject({ type: "finish", finishReason: "tool-calls" });
    const half = await answerRaw(world, [{ ...asked(question, 1), approved: true }]);
    expect(sequence(half)).toBe(`start toa ${done}`);
    expect(half.chunks.at(-1)).toMatchObject({ type: "finish", finishReason: "tool-calls" });
    const again = await answerRaw(world, [{ ...asked(question, 1), approved: true }]);
    expect(again.chunks.at(-1)).toMatchObject({ type: "finish", finishReason: "tool-calls" });
    expect(world.gemini.requests).toHaveLength(1);
    const whole = await answerRaw(world, [{ ...asked(question, 0), approved: false }]);
    expect(sequence(whole)).toBe(over("SSE", tell("tod")));
    expect(whole.chunks.at(-1)).toMatchObject({ type: "finish", finishReason: "stop" });
    // The model gets the responses in the order of its calls, not in the order of the answers.
    expect(
      world.gemini.requests[1]!.responses.map(({ args, response }) => [
        args["recipient"],
        response["status"] ?? response["success"],
      ]),
    ).toEqual([
      ["Alice", "denied"],
      ["Bob", true],
    ]);
    expect(textOf(whole)).toContain("rejected");
    expect(world.payments).toEqual([paid(40, "Bob")]);
  });
});
