import { describe, expect, test } from "vitest";
import { cleanTitle, maxTitleLength, titleOf } from "./chat-title.ts";

const titleOfText = (text: string) => titleOf({ id: "m", role: "user", parts: [{ type: "text", text }] });

describe("the title of a chat", () => {
  test.each([
    ["Pay Hanako 50 dollars", "Pay Hanako 50 dollars"],
    ["  two\n\n lines\tand  spaces ", "two lines and spaces"],
    ["\u202eevil\u202c \u200bzero\u2060width\ufeff", "evil zerowidth"],
    ["no\u00a0break, empty\u2800braille, nul\0, lone \ud800", "no break, emptybraille, nul, lone"],
    ["花子さんに50ドル送金してください", "花子さんに50ドル送金してください"],
    ["", ""],
    ["\u200b\n", ""],
  ])("of %j is %j", (text, title) => {
    expect(titleOfText(text)).toBe(title);
  });

  test("ends with a whole word", () => {
    const title = titleOfText("word ".repeat(100));
    expect(title).toMatch(/^(word )+word…$/);
    expect(title.length).toBeLessThanOrEqual(60);
    expect(titleOfText(`${"a".repeat(20)} ${"b".repeat(100)}`)).toBe(`${"a".repeat(20)} ${"b".repeat(38)}…`);
  });

  test("never cuts through a character", () => {
    for (const character of ["花", "👍", "é", "🇯🇵"]) {
      const title = titleOfText(character.repeat(200));
      expect(title).toBe(`${character.repeat(59)}…`);
    }
  });

  test("is short, whatever the text is made of", () => {
    const marks = `a${"\u0301".repeat(1000)}`;
    for (const text of [marks.repeat(100), "x".repeat(1_000_000), " x".repeat(1_000_000)])
      expect(cleanTitle(text).length).toBeLessThan(maxTitleLength * 9);
  });

  test("of a message with words are its words, also after a file", () => {
    const file = { type: "file" as const, url: "data:,", mediaType: "image/png", filename: "cat.png" };
    expect(titleOf({ id: "m", role: "user", parts: [file, { type: "text", text: "Which cat is this?" }] })).toBe(
      "Which cat is this?",
    );
  });

  test("of a message without words is the name of its file", () => {
    const file = { type: "file" as const, url: "data:,", mediaType: "image/png" };
    const parts = [
      { type: "text" as const, text: " " },
      { ...file, filename: "cat\u202e.png" },
    ];
    expect(titleOf({ id: "m", role: "user", parts })).toBe("cat.png");
    expect(titleOf({ id: "m", role: "user", parts: [file] })).toBe("");
  });
});
