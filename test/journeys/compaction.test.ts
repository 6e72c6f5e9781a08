/** ADK's context compactors: they shorten what the model gets, and change nothing else. */
import {
  type BaseAgent,
  type BaseTool,
  type Gemini,
  LlmAgent,
  LlmSummarizer,
  TokenBasedContextCompactor,
  TrajectoryThoughtPruningCompactor,
  TruncatingContextCompactor,
} from "@google/adk";
import { type Rule, text, thought } from "adk-stream-protocol/testing";
import { describe, expect, it } from "vitest";
import { expectWhole, liveRules, type LiveStage, openLiveStage } from "../fixtures/live-stage.ts";
import { textOf } from "../fixtures/world.ts";

const modes = [
  { mode: "by request", live: false },
  { mode: "live", live: true },
];
type Compactors = NonNullable<ConstructorParameters<typeof LlmAgent>[0]["contextCompactors"]>;

const summaryRule: Rule = { when: /conversation history between/, say: [text("SUMMARY OF IT")] };
const withCompactors =
  (compactors: (model: Gemini) => Compactors) =>
  ({ model, tools }: { model: () => Gemini; tools: BaseTool[] }): BaseAgent =>
    new LlmAgent({
      name: "root_agent",
      model: model(),
      instruction: "Help.",
      tools,
      contextCompactors: compactors(model()),
    });
const summarising = (eventRetentionSize: number) =>
  withCompactors((llm) => [
    new TokenBasedContextCompactor({
      tokenThreshold: 1,
      eventRetentionSize,
      summarizer: new LlmSummarizer({ llm }),
    }),
  ]);
const truncating = (threshold: number) => withCompactors(() => [new TruncatingContextCompactor({ threshold })]);

const yes = async (stage: LiveStage, how: { live: boolean }) =>
  stage.answer(
    (await stage.pending()).map(({ id }) => ({ id, approved: true })),
    how,
  );
/** The requests in which a summary was asked for. */
const summarised = (stage: LiveStage) =>
  stage.gemini.requests.map((request) => JSON.stringify(request.contents)).filter((said) => said.includes("[Event 1"));

describe.each([0, 1, 2])("a history that is cut to %i events", (threshold) => {
  it("does not separate the result of a tool from its call", async () => {
    const stage = await openLiveStage({ agent: truncating(threshold) });
    expect(textOf(await stage.say("weather", { live: false }))).toContain("get_weather gave");
    expect(textOf(await stage.say("weather", { live: false }))).toContain("get_weather gave");
    await expectWhole(stage);
  });

  it.each(modes)("does not lose a call that waits, $mode", async ({ live }) => {
    const stage = await openLiveStage({ agent: truncating(threshold) });
    await stage.say("hello", { live });
    await stage.say("pay", { live });
    await stage.restart();
    const reply = await yes(stage, { live });
    expect(stage.payments).toHaveLength(1);
    expect(textOf(reply)).toContain('{"paid":50}');
    await expectWhole(stage);
  });
});

describe.each([1, 2, 3])("a history that is summarised but for %i events", (size) => {
  it.each(modes)("is not shown as the assistant's words, and the call goes on, $mode", async ({ live }) => {
    const stage = await openLiveStage({ agent: summarising(size), rules: [summaryRule, ...liveRules] });
    const replies = [await stage.say("hello", { live }), await stage.say("pay", { live })];
    if (live) await stage.restart();
    replies.push(await yes(stage, { live }), await stage.say("weather", { live }));
    expect(stage.payments).toHaveLength(1);
    expect(textOf(replies[2]!)).toContain('{"paid":50}');
    expect(summarised(stage).length).toBeGreaterThan(0);
    expect(JSON.stringify(replies)).not.toContain("SUMMARY");
    expect(JSON.stringify(await stage.bridge.messages("local", "chat-1"))).not.toContain("SUMMARY");
    await expectWhole(stage);
  });

  it("keeps a call that waits when a live chat connects again", async () => {
    const stage = await openLiveStage({ agent: summarising(size), rules: [summaryRule, ...liveRules] });
    await stage.say("hello");
    await stage.say("hello again");
    await stage.say("pay");
    await stage.restart();
    await stage.say("hello once more");
    expect(summarised(stage).length).toBeGreaterThan(0);
    const history = stage.textToModel(stage.gemini.live.sessions.at(-1)).join();
    expect(history).toContain("SUMMARY OF IT");
    expect(history).toContain("[called process_payment(");
    const reply = await yes(stage, { live: true });
    expect(textOf(reply)).toContain('"paid":50');
    await expectWhole(stage);
  });
});

it("thoughts that are pruned from the history are not shown again with their text", async () => {
  const stage = await openLiveStage({
    agent: withCompactors(() => [new TrajectoryThoughtPruningCompactor({ eventRetentionSize: 1 })]),
    rules: [{ when: /think/, say: [thought("Hm."), text("I thought.")] }, ...liveRules],
  });
  expect(textOf(await stage.say("think", { live: false }))).toBe("I thought.");
  expect(textOf(await stage.say("hello", { live: false }))).toBe("Hello there, friend.");
  await expectWhole(stage);
});
