import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BridgeError } from "./errors.ts";
import { parseJson } from "./parse-json.ts";

const limits = { maxDepth: 32, maxKeys: 1_000 };

test("parses what JSON.parse parses", () => {
  const value = fc.jsonValue({ stringUnit: "binary" }).map((json) => JSON.stringify(json));
  fc.assert(
    fc.property(value, fc.constantFrom(undefined, 1, "\t"), (text, space) => {
      fc.pre(!/"(__proto__|constructor|prototype)"/.test(text));
      const spaced = JSON.stringify(JSON.parse(text), undefined, space);
      expect(parseJson(spaced, { maxDepth: 100 })).toEqual(JSON.parse(text));
    }),
    { numRuns: 2_000 },
  );
});

test("is not misled by brackets, colons and quotes inside strings", () => {
  const value = { 'a":{"a': String.raw`[[[[ \" : \\`, "}": ['"', "\\", ":", '\\"'] };
  expect(parseJson(JSON.stringify(value), { maxDepth: 2, maxKeys: 2 })).toEqual(value);
});

test("limits the keys of one object, and not those of many", () => {
  const row = Object.fromEntries(Array.from({ length: 5 }, (_, key) => [`k${key}`, { [`l${key}`]: [{ a: 1 }] }]));
  const few = { maxDepth: 10, maxObjectKeys: 5 };
  expect(parseJson(JSON.stringify([row, row, row]), few)).toEqual([row, row, row]);
  expect(() => parseJson(JSON.stringify([row, { ...row, more: 1 }]), few)).toThrow(
    "An object in the JSON has more than 5 keys.",
  );
});

describe("calls it malformed", () => {
  test.each(["", " ", "{", "]", '{"a"}', "{'a':1}", '"\n"', "01", "NaN", "[1,]", '{"a":1}}', '"\\', "\ufeff{}", "tru"])(
    "%j",
    (text) => {
      const error = refusal(text);
      expect(error.code).toBe("malformed");
      expect(error.cause).toBeInstanceOf(SyntaxError);
      expect(error.message).toBe("The text is not valid JSON.");
    },
  );

  test("exactly when JSON.parse does, for any small text", () => {
    const text = fc
      .array(fc.constantFrom(...Array.from('{}[]:,"\\ a1'), '"a":1', '"b"'))
      .map((pieces) => pieces.join(""));
    fc.assert(
      fc.property(text, (candidate) => {
        let syntax = true;
        try {
          JSON.parse(candidate);
        } catch {
          syntax = false;
        }
        let code = "accepted";
        try {
          parseJson(candidate, { maxDepth: 1_000 });
        } catch (error) {
          code = error instanceof BridgeError ? error.code : String(error);
        }
        expect(syntax ? ["accepted", "invalid"] : ["malformed"]).toContain(code);
      }),
      { numRuns: 5_000 },
    );
  });
});

describe("refuses", () => {
  test.each(["__proto__", "constructor", "prototype"])("the key %s anywhere, with its path (A18)", (key) => {
    for (const written of [key, `\\u00${key.charCodeAt(0).toString(16)}${key.slice(1)}`]) {
      const error = refusal(`{"a":[1,{"b c":{"ok":[],"${written}":{"polluted":true}}}]}`);
      expect(error.code).toBe("invalid");
      expect(error.message).toBe(`The value at $.a[1]["b c"].${key} is under a key that is not allowed.`);
      expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    }
  });

  test.each([
    String.raw`{"a":1,"a":1}`,
    String.raw`{"a":1,"\u0061":2}`,
    String.raw`{"\"":1,"\u0022":2}`,
    String.raw`{"":1,"":2}`,
    String.raw`[{"x":{"a":{"b":1},"c":[],"a":null}}]`,
    String.raw`{"a":{"b":1,"c":2},"a":{"b":1,"c":2}}`,
    String.raw`{"1":1,"1":2}`,
  ])("a key given twice in one object: %s (A19)", (text) => {
    expect(refusal(text)).toMatchObject({ code: "invalid", message: "The JSON has the same key twice in one object." });
  });

  test("no key that only occurs in several objects", () => {
    expect(parseJson('[{"a":{"a":1}},{"a":"a"}]', limits)).toEqual([{ a: { a: 1 } }, { a: "a" }]);
  });

  test("finds any one member written again", () => {
    const keys = fc.uniqueArray(fc.string({ unit: "binary", maxLength: 3 }), { minLength: 1 });
    fc.assert(
      fc.property(keys, fc.nat(), (unique, pick) => {
        const members = unique.map((key) => `${JSON.stringify(key)}:0`).join(",");
        const again = unique[pick % unique.length] ?? "";
        const escaped = Array.from({ length: again.length }, (_, at) => unicodeEscape(again.charCodeAt(at))).join("");
        expect(Object.keys(parseJson(`{${members}}`, limits) ?? {})).toHaveLength(unique.length);
        expect(refusal(`{${members},"${escaped}":1}`).message).toContain("twice");
      }),
    );
  });
});

describe("limits (A20), at the limit and one past", () => {
  test("depth", () => {
    expect(parseJson("[".repeat(32) + "]".repeat(32), limits)).toBeInstanceOf(Array);
    expect(refusal("[".repeat(33) + "]".repeat(33))).toMatchObject({
      code: "invalid",
      message: "The JSON is nested deeper than 32 levels at character 32.",
    });
    expect(refusal('{"a":'.repeat(33) + "0" + "}".repeat(33)).message).toContain("deeper than 32");
    expect(parseJson("[[],[],[]]", { maxDepth: 2 })).toEqual([[], [], []]);
    expect(parseJson("1", { maxDepth: 0 })).toBe(1);
  });

  test("keys", () => {
    const members = (count: number) => `[${objectText(count)},[]]`;
    expect(parseJson(members(1_000), limits)).toBeInstanceOf(Array);
    expect(refusal(members(1_001)).message).toBe("The JSON has more than 1000 keys.");
    expect(parseJson(members(1_001), { maxDepth: 32 })).toBeInstanceOf(Array);
  });

  test.each([10 * 1024, 4 * 1024 * 1024])("%d open brackets are refused, also when they are closed", (count) => {
    expect(refusal("[".repeat(count)).message).toContain("deeper than 32");
    expect(refusal("[".repeat(count / 2) + "]".repeat(count / 2)).message).toContain("deeper than 32");
    expect(refusal('{"a":'.repeat(count / 5)).message).toContain("deeper than 32");
  });

  test("walks as deep as it is allowed to without recursion", () => {
    const depth = 100_000;
    expect(parseJson("[".repeat(depth) + "]".repeat(depth), { maxDepth: depth })).toBeInstanceOf(Array);
  });
});

// Quadratic work on 4 MiB would be some 10^13 steps: these end within the runner's time only because it is linear.
test.each([
  ["one string", `"${"x".repeat(4 * 1024 * 1024)}"`],
  ["escapes", `"${"\\\\".repeat(2 * 1024 * 1024)}"`],
  ["quotes", `"${'\\"'.repeat(2 * 1024 * 1024)}"`],
  ["empty objects", `[${"{},".repeat(1_400_000)}{}]`],
  ["numbers", `[${"1,".repeat(2_000_000)}1]`],
  ["one object of many keys", objectText(400_000)],
])("takes 4 MiB of %s", (_name, text) => {
  expect(parseJson(text, { maxDepth: 32 })).toBeDefined();
});

function refusal(text: string): BridgeError {
  try {
    parseJson(text, limits);
  } catch (error) {
    if (error instanceof BridgeError) return error;
    throw error;
  }
  throw new Error("The text was accepted.");
}

/** Keys are no array indices, so that the object is a dictionary like any other. */
function objectText(keys: number): string {
  return `{${Array.from({ length: keys }, (_, index) => `"${index}k":0`).join(",")}}`;
}

function unicodeEscape(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, "0")}`;
}

test("counts the levels around a part of a larger text, and names its place", () => {
  const at = ["messages", 3];
  expect(parseJson("[[]]", { maxDepth: 4, at })).toEqual([[]]);
  expect(() => parseJson("[[[]]]", { maxDepth: 4, at })).toThrow("than 4 levels at character 2 of $.messages[3].");
  expect(() => parseJson('{"a":{"prototype":1}}', { maxDepth: 4, at })).toThrow("$.messages[3].a.prototype");
});

test("counts values: objects, lists and what is in them", () => {
  expect(parseJson('[1,",,,[[{{",{}]', { maxDepth: 4, maxValues: 5 })).toHaveLength(3);
  expect(() => parseJson('[1,"",{}]', { maxDepth: 4, maxValues: 4 })).toThrow("more than 4 values");
  expect(() => parseJson('{"a":1,"b":[]}', { maxDepth: 4, maxValues: 3 })).toThrow("more than 3 values");
});
