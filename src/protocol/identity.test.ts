import { describe, expect, test } from "vitest";
import { toIdentity } from "./identity.ts";

describe("an identity", () => {
  test("may be given as an owner alone, who is then the actor too", () => {
    expect(toIdentity("alice")).toEqual({ owner: "alice", actor: "alice" });
    expect(toIdentity({ owner: "team", actor: "花子 😀" })).toEqual({ owner: "team", actor: "花子 😀" });
  });

  test.each([
    ["", "owner"],
    ["a\0", "owner"],
    ["\ud83d", "owner"],
    [["alice"], "owner"],
    [{ owner: 7, actor: "a" }, "owner"],
    [{ owner: "alice" }, "actor"],
    [{ owner: "alice", actor: "" }, "actor"],
  ])("is not %j: the %s is at fault", (who, field) => {
    expect(() => toIdentity(who as never)).toThrow(
      `The ${field} must be non-empty, well-formed text without NUL characters.`,
    );
  });
});
