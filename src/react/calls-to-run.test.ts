import type { UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import { callsToRun } from "./calls-to-run.ts";

const free = { type: "tool-music", toolCallId: "c1", state: "input-available", input: { track: 2 } };
const asked = { ...free, state: "approval-requested", approval: { id: "a1" } };
const approved = { ...free, state: "approval-responded", approval: { id: "a1", approved: true } };

function runs(parts: object[], facts: { state?: string; isArriving?: boolean; saidYes?: boolean } = {}): string[] {
  const { state, isArriving = false, saidYes = true } = facts;
  const messages = [{ id: "m1", role: "assistant", parts }] as unknown as UIMessage[];
  return callsToRun(messages, {
    approvals: { get: () => (state === undefined ? undefined : ({ state } as never)) },
    isMine: (name) => name === "music",
    saidYesHere: () => saidYes,
    isArriving: () => isArriving,
  }).map(({ toolCallId }) => toolCallId);
}

describe("the browser calls that run now", () => {
  it("are free calls, once their step has arrived: until then a question may follow", () => {
    expect(runs([free], { isArriving: true })).toEqual([]);
    expect(runs([free])).toEqual(["c1"]);
  });

  it("are gated calls after the yes that was given here, once each", () => {
    expect(runs([asked], { state: "asked" })).toEqual([]);
    expect(runs([approved], { state: "sending" })).toEqual([]);
    expect(runs([approved, free], { state: "waiting", saidYes: false })).toEqual([]);
    expect(runs([approved, free], { state: "waiting" })).toEqual(["c1"]);
  });

  it("are not calls of the server's tools, and not calls with an outcome", () => {
    expect(runs([{ ...free, type: "tool-pay" }])).toEqual([]);
    expect(runs([{ ...free, state: "output-available", output: {} }])).toEqual([]);
  });
});
