import fc from "fast-check";
import { expect, it } from "vitest";
import { splitWords } from "./split-words.ts";

it("splits Latin text by words, with the space after them", () => {
  expect(splitWords("Hello, my friend.\n\nBye")).toEqual(["Hello, ", "my ", "friend.\n\n", "Bye"]);
});

it("splits Japanese a few characters at a time", () => {
  expect(splitWords("花子さんに50ドルを送金しました。")).toEqual([
    "花子さん",
    "に",
    "50",
    "ドルを送",
    "金しまし",
    "た。",
  ]);
});

it("cuts no character in two", () => {
  expect(splitWords("𠮷𠮷𠮷𠮷𠮷 👩‍👩‍👧 é")).toEqual(["𠮷𠮷𠮷𠮷", "𠮷 ", "👩‍👩‍👧 ", "é"]);
});

it("loses nothing", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => splitWords(text).join("") === text));
});
