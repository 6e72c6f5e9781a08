import { expect, test } from "vitest";
import { byteSize, dataUrlBytes } from "./byte-size.ts";
import { fileSource } from "./file-source.ts";

test.each([
  ["data:image/png;base64,AAAA", "image/png", "picture"],
  ["data:image/svg+xml;base64,AAAA", "image/svg+xml", "own"],
  ["/files/abc", "image/jpeg", "picture"],
  ["/files/abc", "image/svg+xml", "own"],
  ["/files/abc", "application/pdf", "own"],
  ["/files/../approvals", "image/png", "none"],
  ["//evil.example/files/a", "image/png", "none"],
  ["https://evil.example/a.png", "image/png", "link"],
  ["javascript:alert(1)", "image/png", "none"],
  ["blob:x", "image/png", "none"],
])("%s of %s", (url, mediaType, source) => {
  expect(fileSource(url, mediaType)).toBe(source);
});

test("the size of a data URL is that of its content", () => {
  expect(dataUrlBytes("data:text/plain;base64,aGVsbG8=")).toBe(5);
  expect(dataUrlBytes("data:text/plain;base64,aGVsbG8h")).toBe(6);
  expect(dataUrlBytes("/files/a")).toBeUndefined();
});

test.each([
  [5, "5 B"],
  [1536, "1.5 KiB"],
  [10 * 1024 * 1024, "10 MiB"],
])("%d bytes", (bytes, words) => {
  expect(byteSize(bytes, "en")).toBe(words);
});
