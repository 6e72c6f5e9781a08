/** A yes that the server has acknowledged counts, whatever the person does before the call starts. */
import { cancelCalls, gate, text } from "adk-stream-protocol/testing";
import type { Store } from "adk-stream-protocol/stores";
import { memoryStore } from "adk-stream-protocol/stores/memory";
import { describe, expect, it } from "vitest";
import { behindClerk, expectWhole, liveRules, type LiveStage, openLiveStage } from "../fixtures/live-stage.ts";

/** A store in which calls cannot start until `start` is called: between the yes and the start is a moment. */
function storeWithoutClaims() {
  const started = gate();
  const store = (now: () => number): Store => {
    const inner = memoryStore({ now });
    return new Proxy(inner, {
      get(target, name: keyof Store) {
        if (name !== "move") return target[name];
        return async (...[id, change]: Parameters<Store["move"]>) => {
          if (change.event === "claim") await started.opened;
          return target.move(id, change);
        };
      },
    });
  };
  return { store, start: started.open };
}

const rules = [{ when: /never mind/, say: [cancelCalls(), text("As you like.")] }, ...liveRules];
const sameMessage = { id: "u-1" };

/** What a person may do between the yes and the start of the call. */
const deeds: Record<string, (stage: LiveStage, live: boolean) => Promise<unknown>> = {
  "stops the reply": (stage) => stage.stop(),
  "writes again": (stage, live) => stage.say("hello", { live }),
  "edits the message": (stage, live) => stage.say("hello", { ...sameMessage, live }),
  "asks for another reply": (stage, live) => stage.send({ type: "regenerate" }, { live }),
};

const stories = ["by request", "live"].flatMap((mode) =>
  ["a call", "a call of an agent that is run as a tool"].map((whose) => [mode, whose] as const),
);

describe.each(stories)("%s, after a yes to %s", (mode, whose) => {
  const live = mode === "live";
  const isInner = whose !== "a call";
  it.each(Object.entries(deeds))("the call runs once if the person %s before it starts", async (_, act) => {
    const { store, start } = storeWithoutClaims();
    const stage = await openLiveStage({ store, rules, ...(isInner && behindClerk) });
    await stage.say(isInner ? "pay (ask the clerk)" : "pay", { ...sameMessage, live });
    const [question] = await stage.pending();
    expect((await stage.decide(question!.id, true)).outcome).toBe("accepted");
    await act(stage, live);
    start();
    await stage.untilIdle();
    expect(stage.payments).toEqual([{ amount: 50, recipient: "Hanako" }]);
    const rows = await stage.rows();
    expect(rows.find(({ id }) => id === question!.id)?.state).toBe("succeeded");
    // The person finds it in the chat, and the model knows it with the next message at the latest.
    await stage.until(async () => JSON.stringify(await stage.messages()).includes('"paid":50'));
    await stage.say("hello", { live });
    await stage.untilIdle();
    const told = live
      ? [...stage.textToModel(), JSON.stringify(stage.responses())].join(" ")
      : JSON.stringify(stage.gemini.requests.at(-1)!.contents);
    expect(told.replaceAll("\\", "")).toContain('"paid":50');
    await expectWhole(stage);
  });
});

it("live, the call runs once if the model cancels it after the yes and before it starts", async () => {
  const { store, start } = storeWithoutClaims();
  const stage = await openLiveStage({ store, rules });
  await stage.say("pay");
  const [question] = await stage.pending();
  await stage.decide(question!.id, true);
  await stage.say("never mind");
  start();
  await stage.untilIdle();
  await stage.until(async () => (await stage.rows()).every(({ told }) => told));
  expect(stage.payments).toHaveLength(1);
  expect((await stage.rows()).map(({ state }) => state)).toEqual(["succeeded"]);
  await expectWhole(stage);
});
