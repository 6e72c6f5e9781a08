import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { applyJsonSchema } from "./apply-json-schema.ts";

const object = (properties: object, more: object = {}) => ({ type: "object", properties, ...more });

describe("the defaults of a JSON schema", () => {
  it("are added where a value is missing, also inside objects and lists", () => {
    const schema = object({
      limit: { type: "integer", default: 10 },
      options: object({ force: { type: "boolean", default: false } }, { default: {} }),
      files: { type: "array", items: object({ mode: { type: "string", default: "r" } }) },
    });
    expect(applyJsonSchema(schema, { files: [{}, { mode: "w" }] })).toEqual({
      limit: 10,
      options: { force: false },
      files: [{ mode: "r" }, { mode: "w" }],
    });
  });

  it("are added through references and allOf, and not in alternatives", () => {
    const schema = {
      $defs: { size: { type: "string", default: "small" } },
      allOf: [object({ a: { default: 1 } })],
      properties: { size: { $ref: "#/$defs/size" }, other: { anyOf: [object({ b: { default: 2 } })] } },
    };
    expect(applyJsonSchema(schema, { other: {} })).toEqual({ a: 1, size: "small", other: {} });
  });

  it("are copies, and the arguments stay as they are", () => {
    const schema = object({ list: { default: [1] } });
    const args = {};
    const filled = applyJsonSchema(schema, args);
    (filled["list"] as number[]).push(2);
    expect(args).toEqual({});
    expect(applyJsonSchema(schema, {})).toEqual({ list: [1] });
  });

  it("must fit the schema themselves", () => {
    expect(() => applyJsonSchema(object({ a: { type: "string", default: 5 } }), {})).toThrow(
      "The argument at $.a must be string, and is number.",
    );
  });
});

describe("arguments that do not fit a JSON schema", () => {
  const point = object({ x: { type: "number" } }, { required: ["x"], additionalProperties: false });
  it.each<[string, object, Record<string, unknown>, string]>([
    ["a wrong type", object({ a: { type: "integer" } }), { a: 1.5 }, "$.a must be integer, and is number"],
    ["one of several types", object({ a: { type: ["string", "null"] } }), { a: 1 }, "string or null"],
    ["a missing member", point, {}, '$ needs "x"'],
    ["a member too many", point, { x: 1, y: 2 }, "$.y is not allowed"],
    ["a member of the wrong kind", object({}, { additionalProperties: { type: "number" } }), { y: "2" }, "$.y must be"],
    ["an unknown choice", object({ a: { enum: ["r", "w"] } }), { a: "x" }, "$.a is not one of the allowed values"],
    ["another constant", object({ a: { const: { b: 1 } } }), { a: { b: 2 } }, "$.a is not the allowed value"],
    ["a number out of range", object({ a: { minimum: 1, maximum: 5 } }), { a: 6 }, "$.a must be at most 5"],
    ["a text that is too long", object({ a: { maxLength: 2 } }), { a: "👍👍👍" }, "at most 2 characters"],
    ["a list that is too short", object({ a: { minItems: 2 } }), { a: [1] }, "at least 2 items"],
    ["a wrong item", object({ a: { items: { type: "string" } } }), { a: ["x", 1] }, "$.a[1] must be string"],
    [
      "no alternative",
      object({ a: { anyOf: [{ type: "string" }, point] } }),
      { a: {} },
      "fits none of the alternatives",
    ],
  ])("%s", (_, schema, args, sentence) => {
    expect(() => applyJsonSchema(schema, args)).toThrow(sentence);
  });
});

describe("what a complete validator would accept", () => {
  it.each<[string, object, Record<string, unknown>]>([
    ["both alternatives of oneOf that differ in a pattern", { oneOf: [{ pattern: "^a" }, { pattern: "^b" }] }, {}],
    ["not, with a keyword that is not known", { not: { pattern: "^a" } }, {}],
    ["members that a pattern names", { patternProperties: { "^x-": {} }, additionalProperties: false }, { "x-a": 1 }],
    ["null where it is allowed", object({ a: { type: "string", nullable: true } }), { a: null }],
    ["a reference to another document", object({ a: { $ref: "https://example.com/schema" } }), { a: 1 }],
    [
      "a reference beside which ADK wrote a type",
      { $defs: { n: { type: "string" } }, properties: { a: { type: "object", $ref: "#/$defs/n" } } },
      { a: "x" },
    ],
    [
      "alternatives beside which ADK wrote a type",
      object({ a: { type: "null", anyOf: [{ type: "string" }, { type: "null" }] } }),
      { a: "x" },
    ],
    ["two characters of four UTF-16 units", object({ a: { maxLength: 2 } }), { a: "👍👍" }],
    ["a type that is no type", object({ a: { type: "any" } }), { a: 5 }],
  ])("is accepted: %s", (_, schema, args) => {
    expect(applyJsonSchema(schema, args)).toEqual(args);
  });
});

describe("a hostile schema", () => {
  /** Each definition has two ways to the next one, so there are 2^40 ways to the last. */
  const doubling = {
    $defs: Object.fromEntries(
      Array.from({ length: 41 }, (_, index) => [
        `d${index}`,
        index === 40
          ? { type: "string" }
          : { anyOf: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }] },
      ]),
    ),
    properties: { a: { $ref: "#/$defs/d0" } },
  };
  const large = object(
    Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`p${index}`, { default: 1 }])),
  );
  const heavy = object({ a: { items: object({ text: { default: "x".repeat(50_000) } }) } });
  it.each<[string, object, Record<string, unknown>]>([
    ["that refers to itself", { $ref: "#" }, { a: 1 }],
    ["that refers to itself at a value", object({ a: { allOf: [{ $ref: "#/properties/a" }] } }), { a: 1 }],
    ["with a default that refers to itself", { properties: { a: { $ref: "#/properties/a" } } }, {}],
    ["with exponentially many alternatives", doubling, { a: 1 }],
    ["with too many members", large, {}],
    ["with defaults that grow large", heavy, { a: Array.from({ length: 500 }, () => ({})) }],
    ["with a pattern that takes for ever", object({ a: { pattern: "^(a+)+$" } }), { a: `${"a".repeat(64)}!` }],
    [
      "with a member named __proto__",
      JSON.parse('{"properties":{"__proto__":{"default":{"polluted":true}}}}') as object,
      {},
    ],
  ])("%s comes to an end and changes nothing", (_, schema, args) => {
    const start = performance.now();
    expect(applyJsonSchema(schema, args)).toEqual(args);
    expect(performance.now() - start).toBeLessThan(10_000);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  it("of any form is applied, refuses the arguments with a sentence, or changes nothing", () => {
    const keyword = fc.constantFrom(
      "type",
      "properties",
      "items",
      "anyOf",
      "$ref",
      "default",
      "required",
      "enum",
      "allOf",
    );
    const schema = fc.dictionary(keyword, fc.oneof(fc.jsonValue(), fc.dictionary(keyword, fc.jsonValue())));
    fc.assert(
      fc.property(schema, fc.dictionary(fc.string(), fc.jsonValue()), (any, args) => {
        try {
          applyJsonSchema(any, args);
        } catch (error) {
          expect(String(error)).toMatch(/^Error: The argument at \$/);
        }
      }),
    );
  });
});
