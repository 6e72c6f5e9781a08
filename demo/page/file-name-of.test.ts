import { expect, test } from "vitest";
import { fileNameOf } from "./file-name-of.ts";

test.each([
  ["Send 50 dollars to Hanako", "Send 50 dollars to Hanako"],
  ["花子さんに50ドル", "花子さんに50ドル"],
  ["../../etc/passwd", "etc passwd"],
  ["-rf a:b|c\u202E", "rf a b c"],
  ["🙂", "chat"],
  ["", "chat"],
  ["x".repeat(200), "x".repeat(60)],
])("%j", (title, name) => {
  expect(fileNameOf(title)).toBe(name);
});
