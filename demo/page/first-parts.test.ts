import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { firstParts } from "./first-parts.ts";

test("a call that a message has twice is shown once, with its approval", () => {
  const call = { type: "tool-get_location", toolCallId: "c1", input: {} } as const;
  const parts: UIMessage["parts"] = [
    { type: "step-start" },
    { ...call, state: "approval-responded", approval: { id: "a1", approved: true } },
    { ...call, toolCallId: "c2", state: "input-available" },
    { type: "step-start" },
    { ...call, state: "input-available" },
    { type: "text", text: "Here." },
  ];
  expect(firstParts(parts)).toEqual([...parts.slice(0, 4), ...parts.slice(5)]);
});
