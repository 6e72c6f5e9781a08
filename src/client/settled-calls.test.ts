import { expect, test } from "vitest";
import { settledCalls } from "./settled-calls.ts";

test("names the calls that have an outcome, in order", () => {
  expect(
    settledCalls([
      { type: "start" },
      { type: "tool-output-available", toolCallId: "a", output: {} },
      { type: "tool-input-start", toolCallId: "b", toolName: "pay" },
      { type: "tool-output-denied", toolCallId: "c" },
      { type: "tool-output-error", toolCallId: "d", errorText: "no" },
    ]),
  ).toEqual(["a", "c", "d"]);
});
