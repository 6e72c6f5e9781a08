import { expect, test } from "vitest";
import { safeLink } from "./safe-link.ts";

test.each([
  ["https://example.com/a?b=c#d", "https://example.com/a?b=c#d", "example.com"],
  ["HTTP://Example.com:8080", "http://example.com:8080/", "example.com:8080"],
  ["mailto:ann@example.com", "mailto:ann@example.com", "ann@example.com"],
  // The letters are Cyrillic; the browser's own form shows it.
  ["https://аррӏе.com/", "https://xn--80ak6aa92e.com/", "xn--80ak6aa92e.com"],
])("%s is a link to %s", (address, href, target) => {
  expect(safeLink(address)).toEqual({ href, target });
});

test.each([
  "javascript:alert(1)",
  "JaVaScRiPt:alert(1)",
  "java\nscript:alert(1)",
  "java\tscript:alert(1)",
  " https://example.com",
  "\u0000https://example.com",
  "data:text/html,<script>alert(1)</script>",
  "vbscript:x",
  "file:///etc/passwd",
  "blob:https://example.com/1",
  "//example.com",
  "/approvals",
  "?chat=1",
  "https:example.com",
  "https://",
  "https://bank.example@evil.example/",
  "https://user:password@example.com/",
  "mailto:ann@example.com?bcc=eve@example.com",
  "mailto:",
  `https://example.com/${"x".repeat(3000)}`,
  "",
])("%j is no link", (address) => {
  expect(safeLink(address)).toBeUndefined();
});
