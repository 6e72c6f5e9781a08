import { FunctionTool } from "@google/adk";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { makeArguments, makeJson } from "./make-arguments.ts";

describe("from JSON Schema", () => {
  test.each<[string, Record<string, unknown>, unknown]>([
    ["an enum", { enum: ["low", "high"] }, "low"],
    ["a constant", { const: 7 }, 7],
    ["a default", { type: "integer", default: 5 }, 5],
    ["a whole number with bounds", { type: "integer", minimum: 10, maximum: 20 }, 10],
    ["a number above a bound", { type: "number", exclusiveMinimum: 3 }, 4],
    ["a number below a bound", { type: "number", maximum: -5 }, -5],
    ["a number in a narrow range", { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 0.5 }, 0.25],
    ["a multiple", { type: "integer", multipleOf: 5, minimum: 7 }, 10],
    ["a date", { type: "string", format: "date" }, "2026-01-15"],
    ["an email", { type: "string", format: "email" }, "hanako@example.com"],
    ["a text of some length", { type: "string", minLength: 12 }, "example....."],
    ["a short text", { type: "string", maxLength: 2 }, "ex"],
    ["a text with a pattern", { type: "string", pattern: "^\\d{4}$" }, "2026"],
    ["a pattern that is not valid", { type: "string", pattern: "(" }, "example"],
    ["a choice that may be nothing", { anyOf: [{ type: "null" }, { type: "integer" }] }, 1],
    ["several types", { type: ["null", "boolean"] }, true],
    ["two items", { type: "array", minItems: 2, items: { type: "integer" } }, [1, 1]],
    ["no items", { type: "array", maxItems: 0, items: {} }, []],
    ["a tuple", { type: "array", prefixItems: [{ type: "integer" }, { type: "boolean" }] }, [1, true]],
    ["a reference", { $ref: "#/$defs/a", $defs: { a: { enum: ["x"] } } }, "x"],
  ])("%s", (_, schema, expected) => {
    expect(makeJson(schema)).toEqual(expected);
  });

  test("has the required fields, nested, and leaves the others out", () => {
    const address = { type: "object", required: ["city"], properties: { city: { type: "string" }, zip: {} } };
    const schema = { type: "object", required: ["to", "lines"], properties: { to: address, note: {}, lines: {} } };
    expect(makeArguments(schema)).toEqual({ to: { city: "example city" }, lines: "example lines" });
  });

  test("joins what allOf says", () => {
    const part = (name: string) => ({ type: "object", required: [name], properties: { [name]: { type: "integer" } } });
    expect(makeArguments({ allOf: [part("a"), part("b")] })).toEqual({ a: 1, b: 1 });
  });

  test("ends for a schema that contains itself", () => {
    const node = { type: "object", required: ["next"], properties: { next: { $ref: "#" } } };
    expect(JSON.stringify(makeArguments(node)).length).toBeLessThan(200);
  });

  test("does not make as much as a schema asks for", () => {
    const huge = { type: "array", minItems: 1e9, items: { type: "string", minLength: 1e9 } };
    expect(JSON.stringify(makeJson(huge)).length).toBeLessThan(100_000);
  });
});

test("reads Gemini's own schemas", () => {
  const schema = {
    type: "OBJECT",
    required: ["amount", "kind", "tags"],
    properties: {
      amount: { type: "NUMBER", minimum: 5 },
      kind: { type: "STRING", format: "enum", enum: ["gift", "loan"] },
      tags: { type: "ARRAY", items: { type: "STRING" }, minItems: "2" },
    },
  };
  expect(makeArguments(schema)).toEqual({ amount: 5, kind: "gift", tags: ["example tags", "example tags"] });
});

test("what it makes for the declaration of a tool passes the tool's own schema", () => {
  const parameters = z.object({
    amount: z.number().positive().max(100),
    count: z.number().int().min(3),
    mail: z.email(),
    when: z.iso.datetime(),
    level: z.enum(["low", "high"]),
    lines: z.array(z.object({ sku: z.string().min(3), quantity: z.number().int().positive() })).min(1),
    note: z.string().optional(),
    flag: z.boolean(),
  });
  const declaration = new FunctionTool({
    name: "order",
    description: "",
    parameters,
    execute: () => 1,
  })._getDeclaration();
  const schema = declaration?.parameters ?? declaration?.parametersJsonSchema;
  expect(parameters.parse(makeArguments(schema))).toMatchObject({ level: "low", count: 3 });
});

test("always returns an object that is JSON", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (schema) => {
      const made = makeArguments(schema);
      expect(typeof made).toBe("object");
      expect(() => JSON.stringify(made)).not.toThrow();
    }),
  );
});
