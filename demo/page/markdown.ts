import { type Inline, markdownInline } from "./markdown-inline.ts";

/** A part of a text, one below the other. */
export type Block =
  | { kind: "paragraph"; children: Inline[] }
  | { kind: "heading"; level: number; children: Inline[] }
  | { kind: "code"; language: string; text: string }
  | { kind: "list"; start: number | undefined; items: Block[][] }
  | { kind: "quote"; children: Block[] }
  | { kind: "table"; head: Inline[][]; rows: Inline[][][] }
  | { kind: "rule" };

/** Longer texts are shown as they are. */
const maxLength = 100_000;
/** Deeper lists and quotes are text. Each level reads its lines again, so this also bounds the time. */
const maxDepth = 5;

/**
 * Reads the Markdown that models write: paragraphs, headings, lists, code, quotes, tables and rules. Everything else,
 * HTML too, is text. Line breaks in a paragraph are kept. Takes time in proportion to the length of the text.
 */
export function markdown(text: string): Block[] {
  if (text.length > maxLength) return [{ kind: "paragraph", children: [{ kind: "text", text }] }];
  return readBlocks(text.split(/\r?\n/), 0);
}

interface Read {
  block: Block;
  /** The number of the first line after the block. */
  next: number;
}

function readBlocks(lines: readonly string[], depth: number): Block[] {
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    if (isBlank(lines[at])) {
      at += 1;
      continue;
    }
    const { block, next } = readBlock(lines, at, depth) ?? readParagraph(lines, at, depth);
    blocks.push(block);
    at = next;
  }
  return blocks;
}

function readBlock(lines: readonly string[], at: number, depth: number): Read | undefined {
  const line = lines[at] ?? "";
  const fence = fenceOf(line);
  if (fence) return readCode(lines, at, fence);
  const heading = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/.exec(line);
  if (heading) {
    const children = markdownInline((heading[2] ?? "").trim().replace(/ #+$/, ""));
    return { block: { kind: "heading", level: heading[1]?.length ?? 1, children }, next: at + 1 };
  }
  if (isRule(line)) return { block: { kind: "rule" }, next: at + 1 };
  if (depth < maxDepth && isQuote(line)) return readQuote(lines, at, depth);
  if (depth < maxDepth && itemOf(line)) return readList(lines, at, depth);
  return isTable(lines, at) ? readTable(lines, at) : undefined;
}

/** The lines up to an empty one or to one that begins another block. */
function readParagraph(lines: readonly string[], at: number, depth: number): Read {
  let next = at + 1;
  while (next < lines.length && !isBlank(lines[next]) && !beginsBlock(lines, next, depth)) next += 1;
  const text = lines
    .slice(at, next)
    .map((line) => line.trim())
    .join("\n");
  return { block: { kind: "paragraph", children: markdownInline(text) }, next };
}

function beginsBlock(lines: readonly string[], at: number, depth: number): boolean {
  const line = lines[at] ?? "";
  if (fenceOf(line) || /^ {0,3}#{1,6}[ \t]/.test(line) || isRule(line) || isTable(lines, at)) return true;
  if (depth >= maxDepth) return false;
  const item = itemOf(line);
  // A sentence may go on with "1984." in its next line. A list in a paragraph begins with 1.
  return isQuote(line) || (item !== undefined && (item.number === undefined || item.number === 1));
}

const isBlank = (line: string | undefined) => line === undefined || line.trim() === "";
const isQuote = (line: string) => /^ {0,3}>/.test(line);
const indentOf = (line: string) => line.length - line.trimStart().length;

function isRule(line: string): boolean {
  const signs = line.replaceAll(/[ \t]/g, "");
  return signs.length >= 3 && indentOf(line) < 4 && ["-", "*", "_"].some((sign) => signs === sign.repeat(signs.length));
}

// ── code ───────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Fence {
  sign: string;
  length: number;
  language: string;
}

function fenceOf(line: string): Fence | undefined {
  const found = /^ {0,3}(`{3,}|~{3,})([^`]*)$/.exec(line);
  if (!found?.[1]) return undefined;
  const language = /^[\w+#.-]{1,20}/.exec((found[2] ?? "").trim())?.[0] ?? "";
  return { sign: found[1].charAt(0), length: found[1].length, language };
}

/** The lines up to the closing fence, or to the end: a reply that streams has not closed it yet. */
function readCode(lines: readonly string[], at: number, fence: Fence): Read {
  let end = at + 1;
  while (end < lines.length && !closes(lines[end] ?? "", fence)) end += 1;
  const text = lines.slice(at + 1, end).join("\n");
  return { block: { kind: "code", language: fence.language, text }, next: end + 1 };
}

function closes(line: string, { sign, length }: Fence): boolean {
  const signs = line.trim();
  return signs.length >= length && indentOf(line) < 4 && signs === sign.repeat(signs.length);
}

// ── quotes and lists ───────────────────────────────────────────────────────────────────────────────────────────────

function readQuote(lines: readonly string[], at: number, depth: number): Read {
  let next = at;
  while (next < lines.length && isQuote(lines[next] ?? "")) next += 1;
  const inner = lines.slice(at, next).map((line) => line.replace(/^ {0,3}> ?/, ""));
  return { block: { kind: "quote", children: readBlocks(inner, depth + 1) }, next };
}

interface Item {
  number: number | undefined;
  /** How far the item's own lines are indented. */
  indent: number;
  text: string;
}

function itemOf(line: string): Item | undefined {
  const found = /^( *)(?:[-*+]|(\d{1,9})[.)])(?:[ \t]+(.*))?$/.exec(line);
  if (!found || isRule(line)) return undefined;
  const text = found[3] ?? "";
  const number = found[2] === undefined ? undefined : Number(found[2]);
  return { number, indent: (found[1]?.length ?? 0) + 1, text };
}

/** The items of one kind, one after the other. Lines that are indented more belong to the item before them. */
function readList(lines: readonly string[], at: number, depth: number): Read {
  const first = itemOf(lines[at] ?? "");
  const items: Block[][] = [];
  let next = at;
  for (let item = first; item && isSameKind(item, first); item = itemOf(lines[next] ?? "")) {
    const own = [item.text];
    next += 1;
    while (next < lines.length && belongs(lines, next, item.indent)) {
      own.push((lines[next] ?? "").slice(Math.min(indentOf(lines[next] ?? ""), item.indent + 1)));
      next += 1;
    }
    items.push(readBlocks(own, depth + 1));
    // An empty line between two items does not end the list.
    const after = isBlank(lines[next]) ? next + 1 : next;
    if (after !== next && itemOf(lines[after] ?? "")) next = after;
  }
  return { block: { kind: "list", start: first?.number, items }, next };
}

function isSameKind(item: Item, first: Item | undefined): boolean {
  return (item.number === undefined) === (first?.number === undefined) && item.indent <= (first?.indent ?? 0);
}

/** Whether a line is part of an item: indented more than its sign, or a line of text directly after a line of the item. */
function belongs(lines: readonly string[], at: number, indent: number): boolean {
  const line = lines[at] ?? "";
  if (isBlank(line)) return !isBlank(lines[at + 1]) && indentOf(lines[at + 1] ?? "") >= indent;
  if (indentOf(line) >= indent) return true;
  return !isBlank(lines[at - 1]) && !beginsBlock(lines, at, 0) && itemOf(line) === undefined;
}

// ── tables ─────────────────────────────────────────────────────────────────────────────────────────────────────────

function isTable(lines: readonly string[], at: number): boolean {
  const [head, line] = [lines[at] ?? "", lines[at + 1] ?? ""];
  if (!head.includes("|") || !line.includes("-")) return false;
  const columns = cellsOf(line);
  return columns.every((cell) => /^:?-+:?$/.test(cell)) && columns.length === cellsOf(head).length;
}

function readTable(lines: readonly string[], at: number): Read {
  const head = cellsOf(lines[at] ?? "");
  let next = at + 2;
  while (next < lines.length && (lines[next] ?? "").includes("|")) next += 1;
  // A row has the cells that are written. Filled up, a few wide lines could become millions of cells.
  const rows = lines.slice(at + 2, next).map((line) => cellsOf(line).slice(0, head.length));
  const read = (cells: readonly string[]) => cells.map((cell) => markdownInline(cell));
  return { block: { kind: "table", head: read(head), rows: rows.map(read) }, next };
}

/** The cells of a line. `\|` is a bar in a cell. */
function cellsOf(line: string): string[] {
  const cells = line
    .trim()
    .replace(/^\|/, "")
    .split(/(?<!\\)\|/);
  if (cells.length > 1 && isBlank(cells.at(-1))) cells.pop();
  return cells.map((cell) => cell.trim().replaceAll("\\|", "|"));
}
