/** An agent that is run as a tool and cannot finish: its approved calls run once, and the model is told what they did. */
import { AgentTool, FunctionTool, LlmAgent } from "@google/adk";
import type { Store } from "adk-stream-protocol/stores";
import { memoryStore } from "adk-stream-protocol/stores/memory";
import { call, gate, pause, text } from "adk-stream-protocol/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { behindClerk, expectWhole, liveRules, type LiveStage, openLiveStage } from "../fixtures/live-stage.ts";

/** A stage on which a clerk pays and counts in one step. Payments start after `start`, and counting ends after `count`. */
async function open() {
  const [started, counted] = [gate(), gate()];
  const store = (now: () => number): Store => {
    const memory = memoryStore({ now });
    return {
      ...memory,
      async move(id, change) {
        if (change.event === "claim") await started.opened;
        return memory.move(id, change);
      },
    };
  };
  const stage = await openLiveStage({
    store,
    rules: [
      { when: /both/, say: [call("process_payment", { amount: 50, recipient: "Hanako" }), call("count")] },
      { when: ({ text: said, fresh }) => fresh && said === "ask the clerk", say: [call("clerk", { request: "both" })] },
      ...liveRules,
    ],
    agent({ model, tools }) {
      const count = new FunctionTool({
        name: "count",
        description: "Counts.",
        parameters: z.object({}),
        execute: () => counted.opened.then(() => ({ counted: 3 })),
      });
      const clerk = new LlmAgent({ name: "clerk", description: "Pays.", model: model(), tools: [...tools, count] });
      return new LlmAgent({ name: "root_agent", model: model(), tools: [new AgentTool({ agent: clerk })] });
    },
  });
  return { stage, start: started.open, count: counted.open };
}

/** What may happen while the clerk counts. */
const events: Record<string, (stage: LiveStage, live: boolean) => Promise<unknown>> = {
  "the person stops it": (stage) => stage.stop(),
  "the person writes again": (stage, live) => stage.say("hello", { live }),
};

const stories = ["by request", "live"].flatMap((mode) =>
  Object.entries(events).flatMap(([event, happen]) =>
    ["has run", "has not begun"].map((progress) => [mode, progress, event, happen] as const),
  ),
);

describe("a payment that was approved while its agent counts", () => {
  it.each(stories)("%s, when it %s and %s, is told", async (mode, progress, _, happen) => {
    const live = mode === "live";
    const { stage, start, count } = await open();
    const asking = stage.say("ask the clerk", { live });
    await stage.until(async () => (await stage.pending()).length === 1);
    const [question] = await stage.pending();
    expect((await stage.decide(question!.id, true)).outcome).toBe("accepted");
    if (progress === "has run") {
      start();
      await stage.until(async () => (await stage.rows()).some(({ state }) => state === "succeeded"));
    }
    await happen(stage, live);
    start();
    count();
    await asking;
    await stage.untilIdle();
    expect(stage.payments).toEqual([{ amount: 50, recipient: "Hanako" }]);
    await stage.say("hello", { live });
    await stage.untilIdle();
    const told = live
      ? [...stage.textToModel(), JSON.stringify(stage.responses())].join(" ")
      : JSON.stringify(stage.gemini.requests.at(-1)!.contents);
    expect(told.replaceAll("\\", "")).toContain('"paid":50');
    expect((await stage.rows()).every((row) => row.told)).toBe(true);
    await expectWhole(stage);
  });
});

/** A stage on which what the clerk says first, before its call or after it, comes late. Then it waits for `goOn`. */
async function openSlowClerk(when: "before" | "after") {
  const [asked, goOn] = [gate(), gate()];
  let times = 0;
  const stage = await openLiveStage({
    ...behindClerk,
    rules: [
      {
        when: ({ toolNames, responses }) => {
          const isLate = toolNames.includes("process_payment") && responses.length === (when === "after" ? 1 : 0);
          if (isLate) asked.open();
          return isLate && (times += 1) === 1;
        },
        say: [pause(goOn.opened), text("too late")],
      },
      ...liveRules,
    ],
  });
  return { stage, asked: asked.opened, goOn: goOn.open };
}

describe("an agent whose process dies in the middle, live,", () => {
  it("is asked again if it had not said anything", async () => {
    const { stage, asked, goOn } = await openSlowClerk("before");
    void stage.say("pay (ask the clerk)").catch(() => undefined);
    await asked;
    await stage.crash();
    goOn();
    await stage.say("hello");
    await stage.untilIdle();
    expect((await stage.pending()).map(({ toolName }) => toolName)).toEqual(["process_payment"]);
    await expectWhole(stage);
  });

  it("is asked again about outcomes that it had not spoken about", async () => {
    const { stage, asked, goOn } = await openSlowClerk("after");
    await stage.say("pay (ask the clerk)");
    const [question] = await stage.pending();
    await stage.decide(question!.id, true);
    await asked;
    await stage.crash();
    goOn();
    await stage.say("hello");
    await stage.untilIdle();
    expect(stage.payments).toHaveLength(1);
    const clerk = (await stage.rows()).find(({ toolName }) => toolName === "clerk");
    expect(clerk).toMatchObject({ state: "succeeded", outcome: { result: 'process_payment gave {"paid":50}.' } });
    await expectWhole(stage);
  });
});
