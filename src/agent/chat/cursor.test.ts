import { expect, test } from "vitest";
import { decodeCursor, encodeCursor } from "./cursor.ts";

test("a cursor comes back as it was", () => {
  for (const place of [[7], [0, "花子"], [Number.MAX_SAFE_INTEGER, "a", "b"]]) {
    const types = place.map((value) => typeof value as "string" | "number");
    expect(decodeCursor(encodeCursor(place), types)).toEqual(place);
  }
});

test.each(["", "x", "[]", "null", "bnVsbA", "e30", "W10", encodeCursor(["a"]), encodeCursor([1, 2]), "W251bGxd"])(
  "%j is not a cursor",
  (cursor) => {
    expect(() => decodeCursor(cursor, ["number"])).toThrow("cursor must be the one of an earlier page");
  },
);

test.each(["[-1]", "[1.5]", "[1e300]", '["1"]', `[${"1".repeat(2000)}]`])("neither is one that holds %s", (json) => {
  const cursor = Buffer.from(json).toString("base64url");
  expect(() => decodeCursor(cursor, ["number"])).toThrow("cursor must be the one of an earlier page");
});
