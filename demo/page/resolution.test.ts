import { expect, test } from "vitest";
import { toResolution } from "./resolution.ts";

test.each([
  [true, "", { happened: true }],
  [true, "It is in the list.", { happened: true, outcome: "It is in the list." }],
  [true, '{"receipt": 7}', { happened: true, outcome: { receipt: 7 } }],
  [true, "[1]", { happened: true, outcome: [1] }],
  [true, "50", { happened: true, outcome: "50" }],
  [true, "null", { happened: true, outcome: "null" }],
  [true, "{broken", { happened: true, outcome: "{broken" }],
  [false, "", { happened: false }],
  [false, "not in the list", { happened: false, reason: "not in the list" }],
  [false, '{"a": 1}', { happened: false, reason: '{"a": 1}' }],
] as const)("happened: %s with %j", (happened, text, resolution) => {
  expect(toResolution(happened, text)).toEqual(resolution);
});
