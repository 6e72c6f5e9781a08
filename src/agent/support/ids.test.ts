import { describe, expect, it } from "vitest";
import { newId } from "./ids.ts";

describe("newId", () => {
  it("is a word and 128 random bits", () => {
    expect(newId("apr")).toMatch(/^apr_[0-9a-f]{32}$/);
    expect(newId("msg")).toMatch(/^msg_/);
  });

  it("does not repeat, also when the bytes drawn in advance are used up", () => {
    const ids = Array.from({ length: 2000 }, () => newId("turn"));
    expect(new Set(ids).size).toBe(ids.length);
  });
});
