import type { UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import type { Approval } from "../../stores/index.ts";
import { type KeptCalls, keptChunks } from "./kept-chunks.ts";

const tool = (id: string, fields: object) => ({ type: "tool-pay", toolCallId: id, input: { amount: 5 }, ...fields });
const message = (...parts: object[]): UIMessage => ({ id: "m", role: "assistant", parts: parts as UIMessage["parts"] });
const call = (id: string, response?: unknown, step = "s") => ({ id, name: "pay", input: {}, response, step });
const step = { type: "step-start" };

const shown = (kept: Partial<KeptCalls>) =>
  keptChunks({ messages: [], calls: [], inner: new Set(), rows: [], client: new Set(), ...kept }).map(
    ({ type }) => type,
  );
const called = ["tool-input-start", "tool-input-available"];

describe("the calls that stay", () => {
  it("are shown step by step, without words and without calls that leave", () => {
    const done = { state: "output-available", output: {} };
    const parts = [step, { type: "text", text: "I pay." }, tool("a", done), tool("b", done), step, tool("c", done)];
    expect(shown({ messages: [message(...parts)], calls: [call("a"), call("c")] })).toEqual([
      ...["start-step", ...called, "tool-output-available", "finish-step"],
      ...["start-step", ...called, "tool-output-available", "finish-step"],
    ]);
  });

  it("are shown with their failure", () => {
    const parts = [step, tool("a", { state: "output-error", errorText: "no" })];
    expect(shown({ messages: [message(...parts)], calls: [call("a")] })).toContain("tool-output-error");
  });

  it("are shown from the history if a crash kept them from being shown", () => {
    expect(shown({ calls: [call("a", {}, "1"), call("b", undefined, "2")] })).toEqual([
      ...["start-step", ...called, "tool-output-available", "finish-step"],
      ...["start-step", ...called, "tool-output-error", "finish-step"],
    ]);
  });

  it("are shown without an outcome while they run, with their approval", () => {
    const row = { id: "apr", toolCallId: "a", toolName: "pay", state: "executing", gated: true } as Approval;
    expect(shown({ calls: [call("a")], rows: [row] })).toEqual([
      ...["start-step", ...called, "data-approval", "finish-step"],
    ]);
  });

  it("include those of agents that are run as tools", () => {
    const parts = [step, tool("inner", { state: "output-available", output: {} })];
    expect(shown({ messages: [message(...parts)], inner: new Set(["inner"]) })).toHaveLength(5);
  });

  it("say of a browser tool that it has run", () => {
    const chunks = keptChunks({
      ...{ messages: [], calls: [call("a", {})], inner: new Set(), rows: [], client: new Set(["a"]) },
    });
    expect(chunks[2]).toMatchObject({ type: "tool-input-available", providerExecuted: true });
  });
});
