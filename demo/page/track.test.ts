import { expect, test } from "vitest";
import { trackOf } from "./track.ts";

const short = ["asked", "approved", "running", "done"];
const long = ["asked", "approved", "running", "waiting", "done"];

test.each([
  ["pending", undefined, { reached: "asked", at: "asked" }],
  ["approved", 1, { reached: "approved", at: "moving" }],
  ["executing", 1, { reached: "running", at: "moving" }],
  ["succeeded", 1, { reached: "done", at: "over" }],
  ["denied", 1, { reached: "asked", at: "over", branch: "denied" }],
  ["expired", undefined, { reached: "asked", at: "over", branch: "expired" }],
  ["expired", 1, { reached: "approved", at: "over", branch: "expired" }],
  ["cancelled", undefined, { reached: "asked", at: "over", branch: "cancelled" }],
  ["failed", 1, { reached: "running", at: "over", branch: "failed" }],
  ["indeterminate", 1, { reached: "running", at: "over", branch: "unknown" }],
] as const)("draws the stops of an approval that is %s (decided: %s)", (state, decidedAt, track) => {
  expect(trackOf({ state, ...(decidedAt === undefined ? {} : { decidedAt }) })).toEqual({ stops: short, ...track });
});

test.each([
  ["waiting", { reached: "waiting", at: "waiting" }],
  ["succeeded", { reached: "done", at: "over" }],
  ["failed", { reached: "waiting", at: "over", branch: "failed" }],
  ["indeterminate", { reached: "waiting", at: "over", branch: "unknown" }],
] as const)("draws the stop at which a call waits for its report, also when it is %s", (state, track) => {
  expect(trackOf({ state, decidedAt: 1, reportBy: 2 })).toEqual({ stops: long, ...track });
});
