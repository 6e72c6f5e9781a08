import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonPath } from "./json-path.ts";

test("names keys and indices from the root", () => {
  expect(jsonPath([])).toBe("$");
  expect(jsonPath(["to", 0, "two words", ""])).toBe('$.to[0]["two words"][""]');
});

test("is short printable ASCII whatever the keys are", () => {
  const unit = fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.constantFrom(0x0a, 0x22, 0x5c, 0x202e, 0xd800));
  const key = fc.array(unit, { maxLength: 100 }).map((units) => String.fromCharCode(...units));
  fc.assert(
    fc.property(fc.array(fc.oneof(key, fc.nat())), (segments) => {
      expect(jsonPath(segments)).toMatch(/^\$[\x20-\x7e]{0,202}$/);
    }),
  );
});

test("cuts a long key and a long path", () => {
  expect(jsonPath(["a".repeat(41)])).toBe(`$["${"a".repeat(40)}..."]`);
  expect(jsonPath(Array.from({ length: 100 }, () => "abc"))).toHaveLength(203);
});
