import { expect, test } from "vitest";
import { canOpenBrowser } from "./open-browser.ts";

test.each<[Record<string, string>, boolean, NodeJS.Platform, boolean]>([
  [{ DISPLAY: ":0" }, true, "linux", true],
  [{}, true, "linux", false],
  [{}, true, "darwin", true],
  [{ CI: "1" }, true, "darwin", false],
  [{ DISPLAY: ":0" }, false, "linux", false],
])("a browser is opened with %j, terminal %s, on %s: %s", (env, isTerminal, platform, expected) => {
  expect(canOpenBrowser(env, isTerminal, platform)).toBe(expected);
});
