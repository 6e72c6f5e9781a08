import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { copyJson, toJsonCopy } from "./json-copy.ts";

const anyJson = fc.jsonValue({ stringUnit: "binary" });

describe("toJsonCopy", () => {
  test("drops undefined fields and keeps null ones", () => {
    expect(toJsonCopy({ gone: undefined, no: null, deep: [{ gone: undefined }] })).toStrictEqual({
      no: null,
      deep: [{}],
    });
  });

  test("does what going through text does to values of any kind", () => {
    const odd = fc.constantFrom<unknown>(
      undefined,
      NaN,
      -0,
      Infinity,
      new Date(0),
      new Map([[1, 2]]),
      () => 1,
      Symbol("s"),
    );
    const pair = { maxKeys: 4, withSparseArray: true, withDate: true, withBoxedValues: true, values: [anyJson, odd] };
    fc.assert(
      fc.property(fc.anything(pair), (value) => {
        const wrapped = { value };
        expect(toJsonCopy(wrapped)).toStrictEqual(JSON.parse(JSON.stringify(wrapped)));
      }),
    );
  });

  test("refuses a value that contains itself, as JSON does", () => {
    const value: Record<string, unknown> = {};
    value["self"] = value;
    expect(() => toJsonCopy(value)).toThrow(TypeError);
  });

  test("leaves it to a value how it is stored", () => {
    expect(toJsonCopy({ a: { toJSON: () => "b" } })).toStrictEqual({ a: "b" });
  });

  test("keeps a field named __proto__ as a field", () => {
    const value = JSON.parse('{"__proto__":{"polluted":true}}') as object;
    expect(JSON.stringify(toJsonCopy(value))).toBe('{"__proto__":{"polluted":true}}');
    expect("polluted" in toJsonCopy(value)).toBe(false);
  });
});

describe("copyJson", () => {
  test("is the same value with nothing in common", () => {
    const value = { list: [{ n: 1 }], deep: { text: "花子" }, no: null };
    const copy = copyJson(value);
    expect(copy).toStrictEqual(value);
    expect(copy).not.toBe(value);
    expect(copy.list).not.toBe(value.list);
    expect(copy.list[0]).not.toBe(value.list[0]);
    expect(copy.deep).not.toBe(value.deep);
  });

  test("does to JSON what going through text does, in the same order of fields", () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        expect(JSON.stringify(copyJson(value))).toBe(JSON.stringify(toJsonCopy(value)));
      }),
    );
  });

  test("keeps a field named __proto__ as a field", () => {
    const value = JSON.parse('{"__proto__":{"polluted":true},"a":1}') as object;
    const copy = copyJson(value);
    expect(JSON.stringify(copy)).toBe('{"__proto__":{"polluted":true},"a":1}');
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
    expect("polluted" in copy).toBe(false);
  });
});
