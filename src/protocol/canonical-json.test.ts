import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson, defaultJsonLimits } from "./canonical-json.ts";
import { BridgeError } from "./errors.ts";

describe("RFC 8785", () => {
  // Appendix B: the bits of a double, and its text.
  test.each([
    ["0000000000000000", "0"],
    ["8000000000000000", "0"],
    ["0000000000000001", "5e-324"],
    ["8000000000000001", "-5e-324"],
    ["3eb0c6f7a0b5ed8c", "9.999999999999997e-7"],
    ["3eb0c6f7a0b5ed8d", "0.000001"],
    ["41b3de4355555553", "333333333.3333332"],
    ["41b3de4355555554", "333333333.33333325"],
    ["41b3de4355555555", "333333333.3333333"],
    ["41b3de4355555556", "333333333.3333334"],
    ["41b3de4355555557", "333333333.33333343"],
    ["becbf647612f3696", "-0.0000033333333333333333"],
    ["43143ff3c1cb0959", "1424953923781206.2"],
  ])("writes the double %s as %s", (bits, text) => {
    expect(canonicalJson(double(bits))).toBe(text);
  });

  // The other rows of appendix B; the RFC prints the integers among them, we do not take them.
  test.each([
    ["7fffffffffffffff", "finite"],
    ["7ff0000000000000", "finite"],
    ["fff0000000000000", "finite"],
    ["7fefffffffffffff", "integer"],
    ["ffefffffffffffff", "integer"],
    ["4340000000000000", "integer"],
    ["c340000000000000", "integer"],
    ["4430000000000000", "integer"],
    ["44b52d02c7e14af5", "integer"],
    ["44b52d02c7e14af6", "integer"],
    ["44b52d02c7e14af7", "integer"],
    ["444b1ae4d6e2ef4e", "integer"],
    ["444b1ae4d6e2ef4f", "integer"],
    ["444b1ae4d6e2ef50", "integer"],
  ])("refuses the double %s: %s", (bits, problem) => {
    expect(refusal(double(bits))).toContain(problem);
  });

  const sample = String.raw`{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  }`;

  test("writes the sample object of section 3.2.2, without its integer past 2^53", () => {
    expect(canonicalJson(JSON.parse(sample.replace(" 1E30,", "")))).toBe(
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    );
    expect(refusal(JSON.parse(sample))).toContain("$.numbers[1]");
  });

  test("sorts the sample of section 3.2.3 by UTF-16 code units", () => {
    const value = JSON.parse(String.raw`{
      "\u20ac": "Euro Sign",
      "\r": "Carriage Return",
      "\ufb33": "Hebrew Letter Dalet With Dagesh",
      "1": "One",
      "\ud83d\ude00": "Emoji: Grinning Face",
      "\u0080": "Control",
      "\u00f6": "Latin Small Letter O With Diaeresis"
    }`);
    expect(Object.values(JSON.parse(canonicalJson(value)))[0]).toBe("One");
    expect([...canonicalJson(value).matchAll(/:"([^"]*)"/g)].map(([, name]) => name)).toEqual([
      "Carriage Return",
      "One",
      "Control",
      "Latin Small Letter O With Diaeresis",
      "Euro Sign",
      "Emoji: Grinning Face",
      "Hebrew Letter Dalet With Dagesh",
    ]);
  });

  test("escapes as section 3.2.2.2 says: short forms, then lower-case \\u, everything else as it is", () => {
    expect(canonicalJson('\b\t\n\f\r"\\/\u0000\u001f\u007f\u2028€😂')).toBe(
      `"${String.raw`\b\t\n\f\r\"\\/\u0000\u001f`}\u007f\u2028€😂"`,
    );
  });
});

describe("refuses", () => {
  class Payment {
    amount = 50;
  }
  const withSymbol = { [Symbol("hidden")]: 1 };
  const withHidden = Object.defineProperty({}, "hidden", { value: 1 });
  const withGetter = Object.defineProperty({}, "amount", { get: () => 50, enumerable: true });
  // oxlint-disable-next-line no-sparse-arrays
  const withHole = [1, , 3];
  const cycle: unknown[] = [];
  cycle.push({ cycle });

  test.each<[string, unknown, string]>([
    ["NaN", Number.NaN, "not a finite number"],
    ["what 1e400 parses to", JSON.parse("1e400"), "not a finite number"],
    ["2^53", 2 ** 53, "beyond 2^53 - 1"],
    ["-2^53", -(2 ** 53), "beyond 2^53 - 1"],
    ["undefined", undefined, "type undefined"],
    ["a bigint", 1n, "type bigint"],
    ["a symbol", Symbol("x"), "type symbol"],
    ["a function", () => 1, "type function"],
    ["a high surrogate alone", "\ud800", "surrogate"],
    ["a low surrogate alone", "a\udc00b", "surrogate"],
    ["surrogates in the wrong order", "\udc00\ud800", "surrogate"],
    ["a Date", new Date(0), "plain object"],
    ["a Map", new Map(), "plain object"],
    ["a class instance", new Payment(), "plain object"],
    ["a boxed string", Object("a"), "plain object"],
    ["an object with members behind it", Object.create({ amount: 50 }), "plain object"],
    ["a typed array", new Uint8Array(1), "plain object"],
    ["a subclass of Array", new (class extends Array {})(), "plain array"],
    ["an array with a hole", withHole, "holes"],
    ["a long array of holes", Array(30_000), "holes"],
    ["an array too long to be looked at", Array(2 ** 32 - 1), "longer than 65536 bytes"],
    ["an array with a name", Object.assign([1], { name: 2 }), "extra"],
    ["a hole made up for by a name", Object.assign(Array(1), { name: 2 }), "is missing, hidden or a getter"],
    ["a symbol as a key", withSymbol, "symbol as a key"],
    ["a hidden member", withHidden, "is missing, hidden or a getter"],
    ["a getter", withGetter, "is missing, hidden or a getter"],
    ["a cycle", cycle, "deeper than 32"],
  ])("%s", (_name, value, problem) => {
    expect(refusal(value)).toContain(problem);
    expect(refusal(value)).toMatch(/^The value at \$/);
    expect(refusal({ arguments: [value] })).toContain("$.arguments[0]");
  });

  test("an undefined member, which JSON.stringify would drop", () => {
    expect(refusal({ to: "Hanako", amount: undefined })).toContain("$.amount is of type undefined");
  });

  test("half of a surrogate pair in a key", () => {
    expect(refusal({ "\ud800": 1 })).toBe(String.raw`The value at $["\ud800"] holds half of a surrogate pair.`);
  });

  test.each(["__proto__", "constructor", "prototype"])("the key %s at any depth (A18)", (key) => {
    const value = JSON.parse(`{"list":[{"${key}":{"polluted":true}}]}`);
    expect(refusal(value)).toBe(`The value at $.list[0].${key} is under a key that is not allowed.`);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});

describe("limits (A20), at the limit and one past", () => {
  test("counts the bytes of the text, not its characters", () => {
    const { maxBytes } = defaultJsonLimits;
    expect(canonicalJson("a".repeat(maxBytes - 2))).toHaveLength(maxBytes);
    expect(refusal("a".repeat(maxBytes - 1))).toContain("longer than 65536 bytes");
    expect(bytes(canonicalJson("é".repeat(maxBytes / 2 - 1)))).toBe(maxBytes);
    expect(refusal(`${"é".repeat(maxBytes / 2 - 1)}a`)).toContain("longer than 65536 bytes");
    expect(refusal("\u0001".repeat(Math.ceil(maxBytes / 6)))).toContain("longer than 65536 bytes");
  });

  test("counts what many small values take together", () => {
    const zeros = (count: number) => Array.from({ length: count }, () => 0);
    expect(canonicalJson(zeros(5), { maxBytes: 11 })).toBe("[0,0,0,0,0]");
    expect(refusal(zeros(5), { maxBytes: 10 })).toContain("longer than 10 bytes");
    expect(refusal({ a: "bcd", e: 1 }, { maxBytes: 14 })).toContain("$.e makes the text longer than 14 bytes");
  });

  test("stops at a shared value that would unfold to gigabytes", () => {
    let value: unknown = "x";
    for (let level = 0; level < 32; level++) value = [value, value];
    expect(refusal(value)).toContain("longer than 65536 bytes");
  });

  test("allows 32 levels", () => {
    expect(canonicalJson(nested(32))).toBe("[".repeat(32) + "]".repeat(32));
    expect(refusal(nested(33))).toBe(`The value at $${"[0]".repeat(32)} is nested deeper than 32 levels.`);
    expect(canonicalJson(1, { maxDepth: 0 })).toBe("1");
    expect(refusal([], { maxDepth: 0 })).toContain("deeper than 0");
  });

  test("allows 1,000 keys in all objects together", () => {
    expect(canonicalJson([keys(400), keys(600)])).toContain('"k599":0');
    expect(refusal([keys(400), keys(601)])).toContain("$[1] makes the number of keys larger than 1000");
  });

  test("keeps the default of a limit that is given as undefined", () => {
    expect(refusal(nested(33), { maxDepth: undefined })).toContain("deeper than 32");
  });

  test.each([10_000, 4_000_000])("survives a value nested %d deep", (depth) => {
    expect(refusal(nested(depth))).toContain("deeper than 32");
  });
});

describe("for any value (A19)", () => {
  test("is stable over a JSON round trip and parses back to an equal value", () => {
    fc.assert(
      fc.property(json, (value) => {
        const text = canonicalJson(value);
        expect(canonicalJson(JSON.parse(text))).toBe(text);
        expect(canonicalJson(JSON.parse(JSON.stringify(value)))).toBe(text);
        expect(same(JSON.parse(text), value)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  test("does not depend on the order of keys", () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(canonicalJson(reversed(value))).toBe(canonicalJson(value));
      }),
      { numRuns: 2_000 },
    );
  });

  test("has the same text if and only if the values are equal", () => {
    let equal = 0;
    const pair = fc.oneof(fc.tuple(tinyJson, tinyJson), fc.tuple(json, json));
    fc.assert(
      fc.property(pair, ([left, right]) => {
        if (same(left, right)) equal++;
        expect(canonicalJson(left) === canonicalJson(right)).toBe(same(left, right));
      }),
      { numRuns: 20_000 },
    );
    expect(equal).toBeGreaterThan(100);
  });

  test("takes an object without a prototype for the same object", () => {
    expect(canonicalJson(Object.assign(Object.create(null), { a: 1 }))).toBe(canonicalJson({ a: 1 }));
  });

  test("either answers or refuses with a BridgeError, whatever comes", () => {
    const anything = fc.anything({ withBigInt: true, withDate: true, withMap: true, withSparseArray: true });
    fc.assert(
      fc.property(anything, (value) => {
        try {
          expect(typeof canonicalJson(value)).toBe("string");
        } catch (error) {
          expect(error).toBeInstanceOf(BridgeError);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

const json = fc.jsonValue({ stringUnit: "binary" }).filter(accepted);

/** Few enough values that two of them are often equal or nearly so. */
const tinyJson = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 2 },
    fc.constantFrom(null, true, false, 0, -0, 1, 0.5, "", "0", "null", "a"),
    fc.array(tie("value"), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom("a", "b", "0", ""), tie("value"), { maxKeys: 2 }),
  ),
})).value;

function accepted(value: unknown): boolean {
  try {
    canonicalJson(value);
    return true;
  } catch {
    return false;
  }
}

/** Equality of JSON values: zero has no sign, objects have no order and no prototype. */
function same(left: unknown, right: unknown): boolean {
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) return left === right;
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  const [a, b] = [new Map(Object.entries(left)), new Map(Object.entries(right))];
  return a.size === b.size && [...a].every(([key, value]) => b.has(key) && same(value, b.get(key)));
}

function reversed(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(reversed);
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, member]) => [key, reversed(member)]),
  );
}

function refusal(value: unknown, limits?: Parameters<typeof canonicalJson>[1]): string {
  try {
    canonicalJson(value, limits);
  } catch (error) {
    if (error instanceof BridgeError && error.code === "invalid") return error.message;
    throw error;
  }
  throw new Error("The value was accepted.");
}

function double(bits: string): number {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, BigInt(`0x${bits}`));
  return view.getFloat64(0);
}

function nested(depth: number): unknown {
  let value: unknown[] = [];
  for (let level = 1; level < depth; level++) value = [value];
  return value;
}

function keys(count: number): Record<string, number> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 0]));
}

function bytes(text: string): number {
  return new TextEncoder().encode(text).length;
}
