import type { Context } from "@google/adk";
import { describe, expect, it } from "vitest";
import { dropNonJsonState, mcpError, needsConversion, toObject } from "./tool-result.ts";

const circular: Record<string, unknown> = {};
circular["self"] = circular;
const unwritable = { result: "The tool ran; its result could not be written as JSON." };

describe("the error of an MCP call", () => {
  it.each<[string, unknown, string | undefined]>([
    ["its texts", { isError: true, content: [{ type: "text", text: "No such file." }] }, "No such file."],
    ["several lines", { isError: true, content: [{ text: "a" }, { type: "image" }, { text: "b" }] }, "a\nb"],
    ["none given", { isError: true, content: [] }, "The tool failed without a message."],
    ["a success", { isError: false, content: [{ type: "text", text: "Done." }] }, undefined],
    ["a result of another kind", { isError: true }, undefined],
    ["no object", "isError", undefined],
  ])("%s", (_, value, error) => {
    expect(mcpError(value)).toBe(error);
  });
});

describe("a tool's result as an object", () => {
  it.each([
    ["an object stays as it is", { paid: 5 }, { paid: 5 }],
    ["nothing", undefined, { result: null }],
    ["null", null, { result: null }],
    ["a text", "Paid.", { result: "Paid." }],
    ["a false", false, { result: false }],
    ["a list", [1, 2], { results: [1, 2] }],
    ["a date, which JSON writes as a text", new Date(0), { result: "1970-01-01T00:00:00.000Z" }],
    ["undefined fields are left out", { paid: 5, note: undefined }, { paid: 5 }],
    ["a circle", circular, unwritable],
    ["a big integer", 5n, unwritable],
    ["a list with a big integer", [5n], unwritable],
  ])("%s", (_, value, object) => {
    expect(toObject(value)).toEqual(object);
  });

  it("is a copy, which later changes to the result do not reach", () => {
    const value = { list: [1] };
    const object = toObject(value);
    value.list.push(2);
    expect(object).toEqual({ list: [1] });
  });
});

describe("a result needs conversion", () => {
  it.each([
    [{ paid: 5 }, false],
    ["Paid.", false],
    [undefined, false],
    [null, false],
    [[1, 2], true],
    [new Date(0), true],
    [circular, true],
    [5n, true],
    [() => undefined, true],
  ])("when it is not JSON or would be stored as something else: %#", (value, expected) => {
    expect(needsConversion(value)).toBe(expected);
  });
});

describe("state that a tool has set", () => {
  it("loses what is not JSON, and the rest stays", () => {
    const stateDelta: Record<string, unknown> = { balance: 3, circular, callback: () => undefined, none: null };
    expect(dropNonJsonState({ actions: { stateDelta } } as unknown as Context)).toBe(2);
    expect(stateDelta).toEqual({ balance: 3, none: null });
  });
});
