import { expect, test } from "vitest";
import { checkFiles, maxFiles, mediaTypeOf } from "./attachments.ts";

const mebibyte = 1024 * 1024;
const file = (name: string, size = 1, type = "") => ({ name, size, type });

test.each([
  ["a.png", "image/png", "image/png"],
  ["notes.md", "", "text/markdown"],
  ["notes.md", "text/x-markdown", "text/markdown"],
  ["A.CSV", "", "text/csv"],
  ["page.txt", "text/html", undefined],
  ["a.svg", "image/svg+xml", undefined],
  ["a.png", "image/svg+xml", undefined],
  ["a.exe", "", undefined],
  ["constructor", "", undefined],
  ["note", "text/plain;charset=utf-8", "text/plain"],
])("%s of type %j is sent as %j", (name, type, mediaType) => {
  expect(mediaTypeOf({ name, type })).toBe(mediaType);
});

test("files are refused for their type and size, alone and together", () => {
  const { taken, refused } = checkFiles(
    [{ size: 4 * mebibyte }],
    [
      file("a.txt", 4 * mebibyte),
      file("b.txt", 11 * mebibyte),
      file("c.zip"),
      file("d.txt", 3 * mebibyte),
      file("e.txt", 0),
    ],
  );
  expect(taken.map((each) => each.file.name)).toEqual(["a.txt"]);
  expect(refused).toEqual([
    { name: "b.txt", reason: "size" },
    { name: "c.zip", reason: "type" },
    { name: "d.txt", reason: "total" },
    { name: "e.txt", reason: "empty" },
  ]);
});

test("a message has a limited number of files", () => {
  const files = Array.from({ length: maxFiles }, (_, index) => file(`${index}.txt`));
  const { taken, refused } = checkFiles([{ size: 1 }], files);
  expect(taken).toHaveLength(maxFiles - 1);
  expect(refused).toEqual([{ name: "19.txt", reason: "count" }]);
});
