import fc from "fast-check";
import { expect, test } from "vitest";
import { type Block, markdown } from "./markdown.ts";
import type { Inline } from "./markdown-inline.ts";
import { safeLink } from "./safe-link.ts";

const words = (pieces: readonly Inline[]): string =>
  pieces.map((piece) => ("children" in piece ? words(piece.children) : piece.text)).join("");

/** The blocks as nested lists, so that a test can be read. */
function shown(blocks: readonly Block[]): unknown[] {
  return blocks.map((block) => {
    switch (block.kind) {
      case "paragraph":
        return words(block.children);
      case "heading":
        return { [`h${block.level}`]: words(block.children) };
      case "code":
        return { code: block.text, ...(block.language && { language: block.language }) };
      case "list":
        return { [block.start === undefined ? "ul" : `ol ${block.start}`]: block.items.map(shown) };
      case "quote":
        return { quote: shown(block.children) };
      case "table":
        return { table: [block.head, ...block.rows].map((row) => row.map(words)) };
      case "rule":
        return "rule";
    }
  });
}

test.each<[string, string, unknown[]]>([
  ["paragraphs keep their line breaks", "one\ntwo\n\nthree", ["one\ntwo", "three"]],
  ["headings", "# One\ntext\n### Two ##", [{ h1: "One" }, "text", { h3: "Two" }]],
  ["a hash without a space", "#1 is done", ["#1 is done"]],
  ["a list", "Steps:\n- one\n- **two**\n* three", ["Steps:", { ul: [["one"], ["two"], ["three"]] }]],
  ["a numbered list", "2. two\n3. three", [{ "ol 2": [["two"], ["three"]] }]],
  ["a number in a sentence", "It was in\n1984. A good year", ["It was in\n1984. A good year"]],
  ["a list in a list", "- a\n  - b\n  - c\n- d", [{ ul: [["a", { ul: [["b"], ["c"]] }], ["d"]] }]],
  ["a list in a numbered list", "1. a\n   - b\n2. c", [{ "ol 1": [["a", { ul: [["b"]] }], ["c"]] }]],
  ["items with empty lines between them", "- a\n\n- b\n\ntext", [{ ul: [["a"], ["b"]] }, "text"]],
  ["an item of two lines", "- a\n  b\n- c", [{ ul: [["a\nb"], ["c"]] }]],
  [
    "code",
    "```ts\nconst a = `<b>`;\n\n# x\n```\nafter",
    [{ code: "const a = `<b>`;\n\n# x", language: "ts" }, "after"],
  ],
  ["code in an item", "- a\n  ```\n  x\n  ```", [{ ul: [["a", { code: "x" }]] }]],
  ["code that has not ended", "```\nline", [{ code: "line" }]],
  ["a longer fence", "````\n```\n````", [{ code: "```" }]],
  ["a quote", "> a\n> - b", [{ quote: ["a", { ul: [["b"]] }] }]],
  ["a rule", "a\n\n---\nb", ["a", "rule", "b"]],
  [
    "a table",
    "| a | b |\n|---|:-:|\n| 1 | x \\| y |\n| 2 |\nafter",
    [{ table: [["a", "b"], ["1", "x | y"], ["2"]] }, "after"],
  ],
  [
    "a table without outer bars",
    "a|b\n-|-\n1|2",
    [
      {
        table: [
          ["a", "b"],
          ["1", "2"],
        ],
      },
    ],
  ],
  ["bars without a table", "a | b\nc | d", ["a | b\nc | d"]],
  ["HTML", "<img src=x onerror=alert(1)>\n<details open>", ["<img src=x onerror=alert(1)>\n<details open>"]],
  ["Windows line ends", "a\r\n\r\n- b\r\n- c", ["a", { ul: [["b"], ["c"]] }]],
  ["nothing", " \n\n", []],
])("%s", (_, text, blocks) => {
  expect(shown(markdown(text))).toEqual(blocks);
});

test("a row has no more cells than are written, and no more than the head", () => {
  const wide = `${"|a".repeat(5000)}|\n${"|-".repeat(5000)}|\n${"|x|\n".repeat(5000)}`;
  const [table] = markdown(wide);
  expect(table?.kind === "table" && table.rows.flat().length).toBe(5000);
  const [narrow] = markdown(`|a|\n|-|\n|${"x|".repeat(100)}`);
  expect(narrow?.kind === "table" && narrow.rows.flat().length).toBe(1);
});

// Quadratic time would take minutes for some of these; the limit leaves room for a busy machine.
test.each([
  "*",
  "**a ",
  "*_",
  "_a*",
  "`",
  "` `` ",
  "[",
  "]",
  "![",
  "[a](",
  "[a](((",
  '[a](b "',
  "[a](https://a.b",
  "[a](mailto:@@@@@",
  "<",
  "<https://",
  "https://",
  "https://@",
  "\\",
  "> ",
  ">",
  "> > - 1. ",
  "- ",
  "-\n",
  "- a\n\n",
  " - a\n",
  "1. ",
  "#",
  "# # ",
  "###### #\n",
  "|",
  "|-",
  "a|\n-|\n",
  "|a|\n|-|\n",
  "```",
  "```\n",
  "~~",
  "---\n",
  "- - - ",
  "\n",
  " ",
  "a\n",
  "あ",
])("%j many times takes a moment", (piece) => {
  const text = piece.repeat(Math.floor(95_000 / piece.length));
  const start = performance.now();
  expect(markdown(text)).toBeDefined();
  expect(markdown(`x${text}y`)).toBeDefined();
  expect(performance.now() - start).toBeLessThan(3000);
});

test("a longer text is shown as it is", () => {
  const text = "# x\n".repeat(60_000);
  expect(markdown(text)).toEqual([{ kind: "paragraph", children: [{ kind: "text", text }] }]);
});

test("no text makes it fail, and every link is safe", () => {
  const pieces = fc.constantFrom(
    ..."*_`~[]()<>!#->|:1. \\\n".split(""),
    "https://a.b/",
    "javascript:",
    "mailto:a@b",
    "x",
    "  ",
    "```",
    "|-|",
  );
  const linksIn = (pieceList: readonly Inline[]): string[] =>
    pieceList.flatMap((piece) => {
      if (!("children" in piece)) return [];
      return [...(piece.kind === "link" ? [piece.href] : []), ...linksIn(piece.children)];
    });
  const links = (block: Block): string[] => {
    if (block.kind === "list") return block.items.flat().flatMap(links);
    if (block.kind === "quote") return block.children.flatMap(links);
    if (block.kind === "table") return [block.head, ...block.rows].flat().flatMap(linksIn);
    return "children" in block ? linksIn(block.children) : [];
  };
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 60 }), (parts) => {
      const found = markdown(parts.join("")).flatMap(links);
      return found.every((href) => safeLink(href)?.href === href);
    }),
    { numRuns: 500 },
  );
});
