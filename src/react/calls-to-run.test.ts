import type { UIMessage } from "ai";
import { expect, it } from "vitest";
import { callsToRun } from "./calls-to-run.ts";

const part = (more: object) => ({ type: "tool-locate", toolCallId: "c1", input: {}, ...more }) as never;
const message = (...parts: never[]): UIMessage => ({ id: "m1", role: "assistant", parts });
const run = (messages: UIMessage[], state = "waiting", yesHere = true, isArriving = false) =>
  callsToRun(messages, {
    approvals: { get: () => ({ state }) as never },
    isMine: (name) => name === "locate",
    saidYesHere: () => yesHere,
    isArriving: () => isArriving,
  }).map(({ toolCallId }) => toolCallId);

const approved = part({ state: "approval-responded", approval: { id: "a1", approved: true } });
const again = part({ state: "input-available" });

it("runs a free call that has no result, in any message", () => {
  expect(run([message(again), message()])).toEqual(["c1"]);
  expect(run([message(part({ state: "input-streaming" }))])).toEqual([]);
  expect(run([message(part({ state: "output-available", output: 1 }))])).toEqual([]);
  expect(run([message(part({ state: "input-available", providerExecuted: true }))])).toEqual([]);
  expect(run([message({ ...(again as object), type: "tool-other" } as never)])).toEqual([]);
});

it("runs a gated call only when the server waits for it, and where the yes was given", () => {
  expect(run([message(approved, again)])).toEqual(["c1"]);
  expect(run([message(approved, again)], "waiting", false)).toEqual([]);
  expect(run([message(approved, again)], "cancelled")).toEqual([]);
  const denied = part({ state: "approval-responded", approval: { id: "a1", approved: false } });
  expect(run([message(denied, again)])).toEqual([]);
  expect(run([message(part({ state: "approval-requested", approval: { id: "a1" } }), again)])).toEqual([]);
});

it("runs no call before its step has arrived: until then its question may follow", () => {
  expect(run([message(again)], "waiting", true, true)).toEqual([]);
});
