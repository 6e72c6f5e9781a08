/** An agent that is run as a tool and cannot finish: its approved calls run once, and the model is told what they did. */
import { AgentTool, FunctionTool, LlmAgent } from "@google/adk";
import type { Store } from "adk-stream-protocol/stores";
import { memoryStore } from "adk-stream-protocol/stores/memory";
import { call, gate } from "adk-stream-protocol/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { expectWhole, liveRules, type LiveStage, openLiveStage } from "../fixtures/live-stage.ts";

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
