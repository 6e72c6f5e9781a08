import { describe, expect, it } from "vitest";
import { createLiveConversation } from "./live-conversation.ts";
import type { LiveStep } from "./pieces-to-live-steps.ts";
import { playLiveSteps, type LiveOutput } from "./play-live-steps.ts";
import { createStoppable, stopped } from "./stoppable.ts";

const say = (word: string): LiveStep => ({ kind: "say", part: { text: word } });
const end: LiveStep = { kind: "end", closing: {}, usage: {} };

/** Plays steps into an output that writes down what is done with it. */
function play(steps: readonly LiveStep[], blocking = true) {
  const done: unknown[] = [];
  const conversation = createLiveConversation();
  const response = createStoppable(() => undefined);
  const output: LiveOutput = {
    send: async (message) => void done.push(message),
    interruptTurn: () => void done.push("interruptTurn"),
    completeTurn: () => void done.push("completeTurn"),
    cancelCalls: () => conversation.cancelCalls(),
    isBlocking: () => blocking,
    close: (code, reason) => void done.push(["close", code, reason]),
    drop: () => void done.push("drop"),
  };
  const ended = playLiveSteps(steps, conversation.beginTurn(), { response, output, delayMs: 0 });
  return { done, ended, response, conversation };
}

const word = (said: string) => ({ serverContent: { modelTurn: { role: "model", parts: [{ text: said }] } } });
const complete = [{ serverContent: { generationComplete: true } }, "completeTurn"];

describe("the steps of a live response are played", () => {
  it("word by word, up to the end of the turn", async () => {
    const { done, ended } = play([say("Hello "), say("there."), end]);
    expect(await ended).toBe("sent");
    expect(done).toEqual([word("Hello "), word("there."), ...complete]);
  });

  it("without the words after a call that the model waits for, and without an end of the turn", async () => {
    const calls: LiveStep = { kind: "call", calls: [{ name: "pay" }], usage: { totalTokenCount: 1 } };
    const waiting = play([calls, say("never"), end]);
    expect(await waiting.ended).toBe("sent");
    const functionCalls = [{ id: "1", name: "pay", args: {} }];
    expect(waiting.done).toEqual([{ toolCall: { functionCalls }, usageMetadata: { totalTokenCount: 1 } }]);
    const talking = play([calls, say("On its way."), end], false);
    await talking.ended;
    expect(talking.done).toEqual([{ toolCall: { functionCalls } }, word("On its way."), ...complete]);
  });

  it("with the calls that are taken back, if there are any", async () => {
    const { done, ended } = play([
      { kind: "cancelCalls" },
      { kind: "call", calls: [{ name: "pay" }], usage: undefined },
      { kind: "cancelCalls" },
      end,
    ]);
    await ended;
    expect(done.slice(1)).toEqual([{ toolCallCancellation: { ids: ["1"] } }, ...complete]);
  });

  it.each<[LiveStep, string, unknown]>([
    [{ kind: "close", code: 1011, reason: "Bye." }, "sent", ["close", 1011, "Bye."]],
    [{ kind: "drop" }, "dropped", "drop"],
    [{ kind: "interrupted" }, "interrupted", "interruptTurn"],
  ])("no further than %j", async (step, how, last) => {
    const { done, ended } = play([step, say("never"), end]);
    expect(await ended).toBe(how);
    expect(done).toEqual([last]);
  });

  it("no further than where the response is stopped", async () => {
    const { done, ended, response } = play([{ kind: "wait", until: new Promise(() => undefined) }, say("never"), end]);
    response.stop("interrupted");
    await expect(ended).rejects.toBe(stopped);
    expect(done).toEqual([]);
  });
});
