import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BridgeError } from "./errors.ts";
import { JsonScanner } from "./json-scanner.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);
const scannerOf = (text: string, sliceBytes: number) => new JsonScanner(bytesOf(text), { sliceBytes });

/** Runs a walk to its end, and counts its stops. */
function run<T>(scanner: JsonScanner, walk: Generator<undefined, T>): { value: T; stops: number } {
  for (let stops = 0; ; stops++) {
    const step = walk.next();
    if (step.done) return { value: step.value, stops };
    scanner.nextSlice();
  }
}

function* wholeValue(scanner: JsonScanner): Generator<undefined, string> {
  yield* scanner.next();
  const { start, end } = yield* scanner.value();
  yield* scanner.end();
  return new TextDecoder().decode(scanner.bytes.subarray(start, end));
}

/** The members with some names, each with the text of its value. */
function* membersOf(scanner: JsonScanner, names: readonly string[]): Generator<undefined, [string, string][]> {
  const found: [string, string][] = [];
  yield* scanner.next();
  for (const name of scanner.members(names)) {
    if (name === undefined) {
      yield;
      continue;
    }
    const { start, end } = yield* scanner.value();
    found.push([name, new TextDecoder().decode(scanner.bytes.subarray(start, end))]);
  }
  yield* scanner.end();
  return found;
}

function* elementsOf(scanner: JsonScanner): Generator<undefined, string[]> {
  const found: string[] = [];
  yield* scanner.next();
  for (const index of scanner.elements()) {
    if (index === undefined) {
      yield;
      continue;
    }
    const { start, end } = yield* scanner.value();
    found[index] = new TextDecoder().decode(scanner.bytes.subarray(start, end));
  }
  yield* scanner.end();
  return found;
}

/** JSON text with white space, and slices of any size. */
const texts = (value: fc.Arbitrary<unknown>) =>
  fc
    .tuple(value, fc.constantFrom(undefined, 1, "\t", " \r\n"))
    .map(([json, space]) => `${JSON.stringify(json, undefined, space)}${typeof space === "string" ? space : ""}`);
const slices = fc.integer({ min: 1, max: 40 });

describe("a scanner", () => {
  it("steps over any value, wherever the slices are cut", () => {
    fc.assert(
      fc.property(texts(fc.jsonValue({ stringUnit: "binary" })), slices, (text, size) => {
        const scanner = scannerOf(` ${text}`, size);
        expect(run(scanner, wholeValue(scanner)).value).toBe(text.trim());
      }),
      { numRuns: 50 },
    );
  });

  it("finds the members of an object by their names", () => {
    const names = fc.constantFrom("id", "role", "rôle", "parts", "i", "idd", "", '"', "\\");
    const objects = fc.dictionary(names, fc.jsonValue());
    fc.assert(
      fc.property(texts(objects), slices, (text, size) => {
        const scanner = scannerOf(text, size);
        const expected = Object.entries(JSON.parse(text) as object).filter(([name]) => /^(id|role|parts)$/.test(name));
        const found = run(scanner, membersOf(scanner, ["id", "role", "parts"])).value;
        expect(found.map(([name, json]) => [name, JSON.parse(json)])).toEqual(expected);
      }),
    );
  });

  it("knows a name that is written with escapes, and no other", () => {
    const text = String.raw`{"\u0069d":1,"\u0069\u0064":2,"i\u0064\u0000":3,"\\id":4,"i\/d":5}`;
    const scanner = scannerOf(text, 100);
    expect(run(scanner, membersOf(scanner, ["id"])).value).toEqual([
      ["id", "1"],
      ["id", "2"],
    ]);
  });

  it("finds the elements of an array", () => {
    fc.assert(
      fc.property(texts(fc.array(fc.jsonValue())), slices, (text, size) => {
        const scanner = scannerOf(text, size);
        const found = run(scanner, elementsOf(scanner)).value;
        expect(found.map((json) => JSON.parse(json) as unknown)).toEqual(JSON.parse(text));
      }),
    );
  });

  it("refuses a text that ends too early, wherever it ends", () => {
    const text = '{"id":[1,{"a\\"b":"花"}],"x":-1.5e3}';
    const bytes = bytesOf(text);
    for (let end = 0; end < bytes.length; end++)
      for (const size of [1, 7, 100]) {
        const scanner = new JsonScanner(bytes.subarray(0, end), { sliceBytes: size });
        expect(() => run(scanner, membersOf(scanner, ["id"]))).toThrow(BridgeError);
      }
  });

  it.each([
    '{"id":1,}',
    '{"id" 1}',
    '{"id":}',
    "{id:1}",
    '{"id":1 "x":2}',
    '{"id":1}}',
    '{"id":1} x',
    '{"id":[}',
    '{"id":{"a":[1}}',
    '{"id":]',
    '{"id":truth}',
    '{"id":01}',
    '{"id":+1}',
    '{"id":1e}',
    `{"id":${"1".repeat(2000)}}`,
    '{"\\x":1}',
  ])("refuses %s", (text) => {
    const scanner = scannerOf(text, 5);
    expect(() => run(scanner, membersOf(scanner, ["id", "role", "x"]))).toThrow("The text is not valid JSON.");
  });

  it.each(["[1,]", "[,1]", "[1 2]", "[1}", "[", "[[]", '["]'])("refuses %s", (text) => {
    const scanner = scannerOf(text, 3);
    expect(() => run(scanner, elementsOf(scanner))).toThrow("The text is not valid JSON.");
  });

  it("stops after each slice, also in a long string, in white space and between many members", () => {
    const size = 1000;
    const long = [
      JSON.stringify({ id: "x".repeat(100_000) }),
      `{${" ".repeat(100_000)}"id":1}`,
      JSON.stringify(Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [index, 0]))),
      `{"id":${"[".repeat(50_000)}${"]".repeat(50_000)}}`,
      `{"id":"${"\\".repeat(100_000)}"}`,
    ];
    for (const text of long) {
      const scanner = scannerOf(text, size);
      expect(run(scanner, membersOf(scanner, ["id"])).stops).toBeGreaterThanOrEqual(text.length / size - 1);
    }
  });
});
