import { expect, test } from "vitest";
import { type Inline, markdownInline } from "./markdown-inline.ts";

/** The pieces in one line, so that a test can be read. */
function shown(pieces: readonly Inline[]): string {
  return pieces
    .map((piece) => {
      if (piece.kind === "text") return piece.text;
      if (piece.kind === "code") return `{code:${piece.text}}`;
      if (piece.kind === "link") return `{link ${piece.href}:${shown(piece.children)}}`;
      return `{${piece.kind}:${shown(piece.children)}}`;
    })
    .join("");
}

test.each([
  ["pay **50** to `bob` now", "pay {strong:50} to {code:bob} now"],
  ["*one* _two_ ~~three~~ __four__", "{emphasis:one} {emphasis:two} {strike:three} {strong:four}"],
  ["**bold with *italic* in it**", "{strong:bold with {emphasis:italic} in it}"],
  ["これは**重要**です。", "これは{strong:重要}です。"],
  ["2 * 3 * 4 ** 5", "2 * 3 * 4 ** 5"],
  ["2*3*4 and 2**3**4", "2*3*4 and 2**3**4"],
  ["snake_case_name and __init__.py", "snake_case_name and {strong:init}.py"],
  ["so **bol", "so **bol"],
  ["**a *b** c", "{strong:a *b} c"],
  ["`**not bold**`", "{code:**not bold**}"],
  ["`` a ` b ``", "{code:a ` b}"],
  ["an `unclosed span", "an `unclosed span"],
  [String.raw`\*not\* \[this\] \\`, "*not* [this] \\"],
  ["<b>not html</b> <script>x</script>", "<b>not html</b> <script>x</script>"],
  ["&lt;&amp;", "&lt;&amp;"],
  ["", ""],
])("%s", (text, pieces) => {
  expect(shown(markdownInline(text))).toBe(pieces);
});

test.each([
  ["see [the docs](https://example.com/a)", "see {link https://example.com/a:the docs}"],
  ["[**bold**](https://example.com)", "{link https://example.com/:{strong:bold}}"],
  ["[wiki](https://example.com/a_(b))", "{link https://example.com/a_(b):wiki}"],
  ['[a](https://example.com "title")', "{link https://example.com/:a}"],
  ["[mail](mailto:ann@example.com)", "{link mailto:ann@example.com:mail}"],
  ["[](https://example.com)", "{link https://example.com/:example.com}"],
  ["![a cat](https://example.com/cat.png)", "{link https://example.com/cat.png:a cat}"],
  ["<https://example.com/>", "{link https://example.com/:https://example.com/}"],
  ["at https://example.com/a_b, then", "at {link https://example.com/a_b:https://example.com/a_b}, then"],
  ["(https://example.com/a)", "({link https://example.com/a:https://example.com/a})"],
  ["https://example.com/。次", "{link https://example.com/:https://example.com/}。次"],
  ["[a [b](https://example.com) c](https://example.org)", "{link https://example.org/:a [b](https://example.com) c}"],
])("a link: %s", (text, pieces) => {
  expect(shown(markdownInline(text))).toBe(pieces);
});

test.each([
  "[x](javascript:alert(1))",
  "[x](JAVASCRIPT:alert(1))",
  "[x](data:text/html,hi)",
  "![x](data:image/svg+xml,hi)",
  "[x](//example.com)",
  "[x](/stream)",
  "[x](https://bank.example@evil.example)",
  "[x](example.com",
  "<javascript:alert(1)>",
  "<https://example.com",
  "xhttps://example.com",
])("no link: %s", (text) => {
  expect(shown(markdownInline(text))).toBe(text);
});

test("marks do not nest deeper than a person can see", () => {
  const depth = (pieces: readonly Inline[]): number =>
    Math.max(0, ...pieces.map((piece) => ("children" in piece ? 1 + depth(piece.children) : 0)));
  const text = `${"*_".repeat(5000)}x${"_*".repeat(5000)}`;
  expect(depth(markdownInline(text))).toBeLessThanOrEqual(7);
});
