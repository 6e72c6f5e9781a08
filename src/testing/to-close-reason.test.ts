import { expect, it } from "vitest";
import { toCloseReason } from "./to-close-reason.ts";

it.each([
  ["a short text", "Not now.", "Not now."],
  ["a long text", "x".repeat(200), "x".repeat(123)],
  ["a long text whose last character would be cut", `${"x".repeat(122)}é`, "x".repeat(122)],
  ["a long text of characters that take three bytes", "あ".repeat(50), "あ".repeat(41)],
])("%s", (_, text, reason) => {
  expect(toCloseReason(text)).toBe(reason);
});
