import { describe, expect, it } from "vitest";
import type { Listing } from "../adk/toolsets.ts";
import { explainUnknownNames, isAlike } from "./policy-names.ts";

function listing(prefix: string | undefined, names: readonly string[]): Listing {
  return {
    names: new Set(["pay", ...names]),
    listed: [{ agent: "clerk", prefix, names: new Set(names) }],
    away: [],
    isComplete: true,
    covers: () => true,
  };
}

describe("the sentence about a name that no tool has", () => {
  it("says which prefix the toolset adds", () => {
    expect(explainUnknownNames(["delete_file"], listing("fs", ["fs_delete_file", "fs_read"]))).toBe(
      "No agent has a tool named delete_file. A toolset of clerk adds the prefix fs; write fs_delete_file. There are: fs_delete_file, fs_read, pay.",
    );
  });

  it("names a tool that is spelt almost like it", () => {
    expect(explainUnknownNames(["delet_file", "zzz"], listing(undefined, ["delete_file"]))).toBe(
      "No agent has a tool named delet_file, zzz. For delet_file, did you mean delete_file? There are: delete_file, pay.",
    );
  });

  it("stays short and readable, whatever a server calls its tools", () => {
    const names = Array.from({ length: 10_000 }, (_, index) => `tool_${index}`);
    const sentence = explainUnknownNames(["delete"], listing("fs", [...names, "\u001B[31mdelete", "x".repeat(1e6)]));
    expect(sentence).toMatch(/ and 9961 more\.$/);
    expect(sentence).not.toContain("\u001B");
    expect(sentence.length).toBeLessThan(800);
  });
});

describe("two names", () => {
  it.each([
    ["delete_file", "fs_delete_file"],
    ["fs_delete_file", "delete_file"],
    ["delete-file", "delete_file"],
    ["deleteFile", "deletefile"],
    ["delet_file", "delete_file"],
    ["dleete_file", "delete_file"],
  ])("are alike: %s, %s", (one, other) => {
    expect(isAlike(one, other)).toBe(true);
  });

  it.each([
    ["delete_file", "read_file"],
    ["pay", "get"],
    ["a", "b"],
    ["", "pay"],
  ])("are not alike: %s, %s", (one, other) => {
    expect(isAlike(one, other)).toBe(false);
  });
});
