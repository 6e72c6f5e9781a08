import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { mixedScripts, visibleText } from "./visible-text.ts";

/** Written down here, not taken from the code: what must never reach the eye unmarked. */
const hidden: [name: string, first: number, last: number][] = [
  ["C0 controls", 0x00, 0x1f],
  ["delete and C1 controls", 0x7f, 0x9f],
  ["soft hyphen", 0xad, 0xad],
  ["combining grapheme joiner", 0x34f, 0x34f],
  ["Arabic letter mark", 0x61c, 0x61c],
  ["Hangul fillers", 0x115f, 0x1160],
  ["Khmer inherent vowels", 0x17b4, 0x17b5],
  ["Mongolian selectors and vowel separator", 0x180b, 0x180f],
  ["zero-width space, joiners and direction marks", 0x200b, 0x200f],
  ["line and paragraph separator, bidi embeddings", 0x2028, 0x202e],
  ["word joiner, invisible operators, bidi isolates, deprecated controls", 0x2060, 0x206f],
  ["Hangul filler", 0x3164, 0x3164],
  ["variation selectors", 0xfe00, 0xfe0f],
  ["byte order mark", 0xfeff, 0xfeff],
  ["halfwidth Hangul filler", 0xffa0, 0xffa0],
  ["specials and interlinear annotation", 0xfff0, 0xfffb],
  ["musical format controls", 0x1d173, 0x1d17a],
  ["lone high surrogates", 0xd800, 0xd803],
  ["lone low surrogates", 0xdffc, 0xdfff],
  ["private use", 0xe000, 0xe003],
  ["noncharacters", 0xfdd0, 0xfdef],
  ["no-break space", 0xa0, 0xa0],
  ["Ogham space", 0x1680, 0x1680],
  ["en quad to hair space", 0x2000, 0x200a],
  ["narrow no-break space", 0x202f, 0x202f],
  ["mathematical space", 0x205f, 0x205f],
  ["empty Braille pattern", 0x2800, 0x2800],
  ["place of an embedded object", 0xfffc, 0xfffc],
  ["empty note head", 0x1d159, 0x1d159],
  ["blank hieroglyphs", 0x13441, 0x13442],
  ["strokes and tildes through a letter", 0x334, 0x338],
  ["lines, frames and signs over a letter", 0x20d2, 0x20e2],
  ["more lines over a letter", 0x20e4, 0x20eb],
  ["tags", 0xe0000, 0xe007f],
  ["more variation selectors", 0xe0100, 0xe01ef],
];

const hiddenPoints = hidden.flatMap(([, first, last]) =>
  Array.from({ length: last - first + 1 }, (_, offset) => first + offset),
);

/** Each hidden character in the places where it does harm: inside a name, before digits, alone, doubled. */
const corpus = hiddenPoints.map((point) => {
  const character = String.fromCodePoint(point);
  return { point, text: `Hana${character}ko ${character}50${character}${character}` };
});

describe("visibleText", () => {
  test("leaves ordinary text whole", () => {
    expect(visibleText("")).toEqual([]);
    for (const text of [
      "Send 50 dollars",
      "花子さんに50ドル送金",
      "été naïve",
      "שלום",
      "สวัสดี",
      "a\u3000b",
      "👍 ❤️ ✈️",
      "e\u0301",
    ]) {
      expect(visibleText(text)).toEqual([{ kind: "text", text }]);
    }
  });

  test("marks what turns the text around", () => {
    expect(visibleText("pay\u202eedo\u202cno")).toEqual([
      { kind: "text", text: "pay" },
      { kind: "mark", text: "\u202e", label: "U+202E" },
      { kind: "text", text: "edo" },
      { kind: "mark", text: "\u202c", label: "U+202C" },
      { kind: "text", text: "no" },
    ]);
  });

  test("names newline and tab as people write them, and keeps them for the renderer", () => {
    expect(visibleText("a\n\tb\r")).toEqual([
      { kind: "text", text: "a" },
      { kind: "mark", text: "\n", label: "\\n" },
      { kind: "mark", text: "\t", label: "\\t" },
      { kind: "text", text: "b" },
      { kind: "mark", text: "\r", label: "U+000D" },
    ]);
  });

  test("marks the emoji selector anywhere but once after an emoji", () => {
    expect(marks("❤\ufe0f")).toEqual([]);
    expect(marks("❤\ufe0f\ufe0f")).toEqual(["U+FE0F"]);
    expect(marks("\ufe0f")).toEqual(["U+FE0F"]);
    expect(marks("a\ufe0f")).toEqual(["U+FE0F"]);
    expect(marks("❤\u200d\ufe0f❤\ufe0e")).toEqual(["U+200D", "U+FE0F", "U+FE0E"]);
  });

  test("marks the marks of a pile that would cover other lines, after the first four", () => {
    expect(marks("Việt Nam, Việt Nam".normalize("NFD"))).toEqual([]);
    expect(marks("a\u0301\u0302\u0303\u0304b\u0301")).toEqual([]);
    expect(marks("a\u0301\u0302\u0303\u0304\u0305\u0306b")).toEqual(["U+0305", "U+0306"]);
  });

  test("marks every hidden character of a hostile corpus (A15)", () => {
    expect(corpus.length).toBeGreaterThan(200);
    for (const { point, text } of corpus) {
      const label = { 0x0a: "\\n", 0x09: "\\t" }[point] ?? `U+${point.toString(16).toUpperCase().padStart(4, "0")}`;
      expect(marks(text)).toEqual([label, label, label, label]);
      expect(joined(text)).toBe(text);
    }
  });

  test("is the text again when joined, for any string", () => {
    const unit = fc.oneof(fc.integer({ min: 0, max: 0x10ffff }), fc.constantFrom(...hiddenPoints));
    const text = fc.array(unit).map((points) => points.map((point) => String.fromCodePoint(point)).join(""));
    fc.assert(
      fc.property(fc.oneof(text, fc.string({ unit: "grapheme" })), (value) => {
        expect(joined(value)).toBe(value);
      }),
      { numRuns: 2_000 },
    );
  });

  test("never puts a hidden character into a text run, and never two text runs side by side", () => {
    const shown = fc.constantFrom("a", "花", "❤", "😂", " ");
    const unit = fc.oneof(
      shown,
      fc.constantFrom(...hiddenPoints).map((point) => String.fromCodePoint(point)),
    );
    fc.assert(
      fc.property(fc.array(unit), (units) => {
        const runs = visibleText(units.join(""));
        for (const [index, run] of runs.entries()) {
          if (run.kind === "mark") continue;
          expect(run.text.replaceAll(/[❤😂]\ufe0f/gu, "")).toMatch(/^[a花❤😂 ]*$/u);
          expect(runs[index - 1]?.kind).not.toBe("text");
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test("is the text again for every code point there is", () => {
    for (let plane = 0; plane <= 0x10; plane++) {
      const points = Array.from({ length: 0x10000 }, (_, offset) => String.fromCodePoint(plane * 0x10000 + offset));
      const text = points.join("");
      expect(joined(text) === text).toBe(true);
    }
  });
});

// A32. Quadratic work on 2^20 characters would be some 10^12 steps: these end within the runner's time only because the
// work is linear, and without a stack error only because no pattern backtracks.
describe.each([64 * 1024, 1024 * 1024])("on %d hostile characters", (size) => {
  test.each(["a", "а", "\u0301", "\u200b", "_", " ", "a ", "aа", "a!", "\ud800", "Я", "é", "花", "ᚠ"])(
    "of %j",
    (pattern) => {
      const text = pattern.repeat(size / pattern.length);
      const mixed = pattern === "aа" ? ["Latin", "Cyrillic"] : [];
      expect(mixedScripts(`${text}!`)).toEqual(mixed);
      const isMark = /[\u200b\ud800]/.test(pattern);
      // The first four of a pile of accents are drawn.
      const runs = pattern === "\u0301" ? size - 3 : isMark ? size : 1;
      expect(visibleText(text)).toHaveLength(runs);
    },
  );
});

function marks(text: string): string[] {
  return visibleText(text).flatMap((run) => (run.kind === "mark" ? [run.label] : []));
}

function joined(text: string): string {
  return visibleText(text)
    .map((run) => run.text)
    .join("");
}
