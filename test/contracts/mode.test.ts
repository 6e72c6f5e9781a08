/**
 * Whether a chat talks by request or over a live connection is decided in a few places. The rest of the agent may pass the
 * mode along and must not compare it, or the two ways to talk would grow apart everywhere.
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");

/** Where the mode may be compared. */
const isAllowed = (file: string): boolean =>
  /^src\/agent\/(?:conversation|adk\/live)\//.test(file) || file === "src/agent/bridge.ts";

const comparisons: readonly RegExp[] = [
  /\bmode (?:===|!==|\?) /,
  /(?:===|!==) "(?:live|request)"/,
  /"(?:live|request)" (?:===|!==)/,
  /\bcase "(?:live|request)"/,
  /\bswitch \(.*\bmode\)/,
  /\bisLive\b/,
];
const comparesMode = (code: string): boolean => comparisons.some((comparison) => comparison.test(code));

describe("the mode of a chat", () => {
  const files = globSync("src/agent/**/*.ts", { cwd: root }).filter((file) => !file.endsWith(".test.ts"));
  const comparing = files.filter((file) => comparesMode(readFileSync(join(root, file), "utf8")));

  it("is compared only by the conversations, the live connection and the bridge", () => {
    expect(comparing.filter((file) => !isAllowed(file))).toEqual([]);
    // Here it is, so the search works.
    expect(comparing).toContain("src/agent/conversation/conversations.ts");
  });

  it.each([
    'if (turn.mode === "live") return;',
    "if (mode !== other) return;",
    'const wait = mode === "request" ? 1 : 2;',
    'if ("live" === turn.mode) return;',
    'switch (turn.mode) { case "live": return; }',
    "if (this.isLive) return;",
    "const wait = mode ? 1 : 2;",
  ])("is found to be compared in: %s", (code) => {
    expect(comparesMode(code)).toBe(true);
  });

  it.each([
    "return this.enqueue(queue, reply, input, mode);",
    'await this.enqueue(queue, reply, { kind: "speech" }, "live");',
    'readonly mode: Approval["mode"];',
    "mode?: Mode;",
    'mode: "request" | "live";',
  ])("is found to be passed along in: %s", (code) => {
    expect(comparesMode(code)).toBe(false);
  });
});
