import { createEventActions } from "@google/adk";
import { describe, expect, it } from "vitest";
import { mergeActions, readActions, takeActions } from "./tool-actions.ts";

describe("the actions that are stored with a call", () => {
  it("are those that take effect later, and no others", () => {
    const actions = createEventActions({
      stateDelta: { a: 1 },
      artifactDelta: { "report.txt": 0 },
      requestedAuthConfigs: { c: { credentialKey: "secret" } as never },
      transferToAgent: "helper",
      escalate: true,
      skipSummarization: true,
      agentState: { any: "thing" },
    });
    const taken = takeActions({ actions });
    expect(taken).toEqual({
      artifactDelta: { "report.txt": 0 },
      transferToAgent: "helper",
      escalate: true,
      skipSummarization: true,
    });
    expect(JSON.stringify(taken)).not.toContain("secret");
  });

  it("are none for a tool that only returned a result", () => {
    expect(takeActions({ actions: createEventActions() })).toBeUndefined();
    expect(takeActions({ actions: createEventActions({ escalate: false, skipSummarization: false }) })).toBeUndefined();
  });

  it("leave out what is not of the right type", () => {
    const odd = { artifactDelta: { a: 1, b: "2", c: NaN, d: 1.5 }, transferToAgent: 5, escalate: "yes" };
    expect(readActions(odd)).toEqual({ artifactDelta: { a: 1 } });
    expect(readActions({ artifactDelta: null, transferToAgent: "" })).toBeUndefined();
    expect(readActions(undefined)).toBeUndefined();
  });

  it("are merged for all calls of a step: the later one wins", () => {
    expect(
      mergeActions([
        { artifactDelta: { a: 1, b: 1 }, transferToAgent: "first" },
        undefined,
        { artifactDelta: { b: 2 }, transferToAgent: "second" },
        { escalate: true },
      ]),
    ).toEqual({ artifactDelta: { a: 1, b: 2 }, transferToAgent: "second", escalate: true });
    expect(mergeActions([undefined, {}])).toBeUndefined();
  });
});
