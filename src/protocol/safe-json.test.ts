import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseJson } from "./parse-json.ts";
import { toSafeJson } from "./safe-json.ts";

const nested = (levels: number): unknown => (levels === 0 ? "end" : { next: nested(levels - 1) });

describe("a value that clients get", () => {
  it.each([
    ["__proto__", "___proto__"],
    ["constructor", "_constructor"],
    ["prototype", "_prototype"],
  ])("has %s under another key", (key, safe) => {
    const value: unknown = JSON.parse(`{"${key}":{"a":1},"list":[{"${key}":2}]}`);
    expect(Object.entries(toSafeJson(value) as object)).toEqual([
      [safe, { a: 1 }],
      ["list", [{ [safe]: 2 }]],
    ]);
  });

  it("keeps a member that has the other key already", () => {
    const safe = toSafeJson(JSON.parse('{"_constructor":1,"constructor":2,"__constructor":3}'));
    expect(safe).toEqual({ _constructor: 1, ___constructor: 2, __constructor: 3 });
  });

  it("has what is nested too deeply as text", () => {
    const text = JSON.stringify(toSafeJson(nested(70)));
    expect(() => parseJson(text, { maxDepth: 48 })).not.toThrow();
    expect(text).toContain('{\\"next\\":');
    expect(text).toContain("end");
  });

  it("can come from any JavaScript value", () => {
    const value = {
      date: new Date(0),
      big: 2n ** 70n,
      nan: Number.NaN,
      missing: undefined,
      list: [undefined, Infinity],
      own: { toJSON: () => ({ constructor: 1 }) },
      half: "a\uD800b",
      function: () => 1,
    };
    expect(toSafeJson(value)).toEqual({
      date: "1970-01-01T00:00:00.000Z",
      big: "1180591620717411303424",
      nan: "NaN",
      list: [null, "Infinity"],
      own: { _constructor: 1 },
      half: "a\uFFFDb",
    });
  });

  it("comes to an end for a value that contains itself", () => {
    const value: Record<string, unknown> = {};
    value["self"] = value;
    expect(JSON.stringify(toSafeJson(value))).toContain("cannot be written as JSON");
  });

  it("passes the checks for a request inside a message, is stable, and stays what it was if it was safe", () => {
    const key = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom("__proto__", "constructor", "prototype", "_prototype"),
    );
    const { value: json } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 70 },
        fc.string({ unit: "binary" }),
        fc.double(),
        fc.boolean(),
        fc.constant(null),
        tie("list"),
        tie("object"),
      ),
      list: fc.array(tie("value"), { maxLength: 3 }),
      object: fc.dictionary(key, tie("value"), { maxKeys: 3, noNullPrototype: true }),
    }));
    fc.assert(
      fc.property(json, (value) => {
        const safe = toSafeJson(value);
        const body = JSON.stringify({ messages: [{ parts: [{ data: { output: safe } }] }] });
        parseJson(body, { maxDepth: 64 });
        expect(toSafeJson(safe)).toEqual(safe);
      }),
      { numRuns: 300 },
    );
    const plain = { a: [1, "two", { three: null }], b: true };
    expect(toSafeJson(plain)).toEqual(plain);
  });
});
