import { expect, test } from "vitest";
import { trackOf } from "./track.ts";

test.each([
  ["pending", undefined, { reached: 0, at: "waiting" }],
  ["approved", 1, { reached: 1, at: "moving" }],
  ["executing", 1, { reached: 2, at: "moving" }],
  ["succeeded", 1, { reached: 3, at: "over" }],
  ["denied", 1, { reached: 0, at: "over", branch: "denied" }],
  ["expired", undefined, { reached: 0, at: "over", branch: "expired" }],
  ["expired", 1, { reached: 1, at: "over", branch: "expired" }],
  ["cancelled", undefined, { reached: 0, at: "over", branch: "cancelled" }],
  ["failed", 1, { reached: 2, at: "over", branch: "failed" }],
  ["indeterminate", 1, { reached: 2, at: "over", branch: "unknown" }],
] as const)("draws the stops of an approval that is %s (decided: %s)", (state, decidedAt, track) => {
  expect(trackOf({ state, ...(decidedAt === undefined ? {} : { decidedAt }) })).toEqual(track);
});
