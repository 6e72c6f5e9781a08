/** The table of limits in PROTOCOL.md §7 and the comments of the types name every limit with its default. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readEntries } from "../../scripts/docs/reference/read-entries.ts";
import { splitDefault } from "../../scripts/docs/reference/reference-page.ts";
import { defaultBridgeLimits } from "../../src/agent/bridge-limits.ts";
import { defaultServerLimits } from "../../src/server/server-limits.ts";

const root = join(import.meta.dirname, "../..");
const protocol = readFileSync(join(root, "PROTOCOL.md"), "utf8");
const section = protocol.slice(protocol.indexOf("## 7. Limits"));

/** A default as the table shows it. */
function shown(name: string, value: number | { size: number; perSecond: number }): string {
  if (typeof value === "object")
    return `${shown("", value.size)} at once, then ${shown("", value.perSecond)} each second`;
  if (value === Infinity) return "no limit";
  if (name.endsWith("Ms")) return `${value / 1000} seconds`;
  if (name.startsWith("bytes")) return `${value / 1024 / 1024} MiB`;
  return value.toLocaleString("en");
}

describe("the limits", () => {
  it.each([
    ["createBridge", defaultBridgeLimits],
    ["the server", defaultServerLimits],
  ])("of %s are in the table, each with its default", (_, defaults) => {
    for (const [name, value] of Object.entries(defaults)) {
      const row = section.split("\n").find((line) => line.startsWith(`| \`${name}\` `));
      expect(row, name).toBeDefined();
      expect(row?.split("|")[3]?.trim(), name).toBe(shown(name, value));
    }
  });

  it.each([
    ["BridgeLimits", defaultBridgeLimits],
    ["ServerLimits", defaultServerLimits],
  ])("of %s have their defaults in the reference", (name, defaults) => {
    const members = readEntries(root).flatMap(
      ({ exported }) => exported.find((one) => one.name === name)?.members ?? [],
    );
    for (const [limit, value] of Object.entries(defaults)) {
      const comment = members.find((member) => member.name === limit)?.comment ?? "";
      expect(splitDefault(comment)[1], limit).toBe(shown(limit, value));
    }
  });

  it("are not met by ordinary use", () => {
    expect(Math.min(defaultBridgeLimits.turns, defaultBridgeLimits.turnsPerOwner)).toBeGreaterThanOrEqual(500);
    expect(defaultServerLimits.requestsPerOwner).toBeGreaterThan(defaultBridgeLimits.turnsPerOwner);
    expect(defaultServerLimits.socketsPerOwner).toBeGreaterThanOrEqual(300);
    expect(defaultBridgeLimits.liveConnectionsPerOwner).toBeGreaterThanOrEqual(150);
    // The whole history of a long chat, twice at once.
    expect(defaultServerLimits.bytesPerOwner).toBeGreaterThanOrEqual(2 * 32 * 1024 * 1024);
    expect(defaultServerLimits.attachesPerOwner.size).toBeGreaterThanOrEqual(defaultServerLimits.socketsPerOwner);
  });
});
