import { expect, test } from "vitest";
import { modeOf, toMode, withMode } from "./mode.ts";

test.each([
  ["http://x/?mode=bidi", "bidi"],
  ["http://x/?chat=1&mode=sse#end", "sse"],
  ["http://x/?mode=BIDI", "bidi"],
  ["http://x/?mode=carrier-pigeon", undefined],
  ["http://x/?mode=", undefined],
  ["http://x/", undefined],
])("the mode in %s is %s", (href, mode) => {
  expect(modeOf(href)).toBe(mode);
});

test("changing the mode keeps the rest of the address", () => {
  expect(withMode("http://x/v6/?chat=1&mode=sse#end", "bidi")).toBe("http://x/v6/?chat=1&mode=bidi#end");
  expect(withMode("http://x/?ai=6", "sse")).toBe("http://x/?ai=6&mode=sse");
});

test("ignores stored values that are not a mode", () => {
  expect([null, "", "constructor", "sse"].map(toMode)).toEqual([undefined, undefined, undefined, "sse"]);
});
