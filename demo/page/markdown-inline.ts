import { safeLink } from "./safe-link.ts";

/** A piece of a line. Text is text: nothing in it is ever read as HTML. */
export type Inline =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string }
  | { kind: "strong" | "emphasis" | "strike"; children: Inline[] }
  | { kind: "link"; href: string; target: string; children: Inline[] };

type Mark = "strong" | "emphasis" | "strike";

/** An opened mark that has no end yet. If none comes, its sign is text. */
interface Opened {
  sign: string;
  children: Inline[];
}

/** Deeper marks are text. Without a limit a hostile text could nest as deep as it is long. */
const maxDepth = 6;

const marks: Readonly<Record<string, Mark>> = {
  "**": "strong",
  __: "strong",
  "*": "emphasis",
  _: "emphasis",
  "~~": "strike",
};

/**
 * Reads bold, italic and struck text, code, and links. A mark that is not closed stays as text, as while a reply streams.
 * Takes time in proportion to the length of the text, whatever the text is: each search below ends where the next one of
 * its kind begins, or has been made beforehand for the whole text.
 */
export function markdownInline(text: string, { links = true }: { links?: boolean } = {}): Inline[] {
  const ends = links ? findBracketEnds(text) : undefined;
  const ticks = findTickEnds(text);
  const top: Inline[] = [];
  const opened: Opened[] = [];
  let plain = "";
  let at = 0;

  const children = () => opened.at(-1)?.children ?? top;
  const flush = () => {
    if (plain !== "") addText(children(), plain);
    plain = "";
  };
  const add = (piece: Inline) => {
    if (piece.kind === "text") {
      plain += piece.text;
      return;
    }
    flush();
    children().push(piece);
  };
  /** Turns opened marks back into text, from this one on. */
  const giveUp = (from: number) => {
    flush();
    for (const { sign, children: inner } of opened.splice(from)) {
      addText(children(), sign);
      for (const piece of inner) {
        if (piece.kind === "text") addText(children(), piece.text);
        else children().push(piece);
      }
    }
  };

  while (at < text.length) {
    const character = text.charAt(at);
    if (character === "\\" && /[!-/:-@[-`{-~]/.test(text.charAt(at + 1))) {
      plain += text.charAt(at + 1);
      at += 2;
      continue;
    }
    if (character === "`") {
      const length = runLength(text, at);
      const end = ticks.get(at);
      if (end === undefined) plain += text.slice(at, at + length);
      else add({ kind: "code", text: trimCode(text.slice(at + length, end)) });
      at = end === undefined ? at + length : end + length;
      continue;
    }
    const link = ends && readLink(text, at, ends);
    if (link) {
      add(link.piece);
      at = link.end;
      continue;
    }
    const sign = signAt(text, at);
    if (sign !== undefined) {
      const place = canClose(text, at, sign) ? opened.findLastIndex((one) => one.sign === sign) : -1;
      if (place !== -1) {
        giveUp(place + 1);
        flush();
        const inner = opened.pop()?.children ?? [];
        children().push({ kind: marks[sign] ?? "strong", children: inner });
      } else if (canOpen(text, at, sign)) {
        flush();
        // The oldest mark is the one least likely to be closed.
        if (opened.length === maxDepth) forgetOldest(opened, top);
        opened.push({ sign, children: [] });
      } else plain += sign;
      at += sign.length;
      continue;
    }
    plain += character;
    at += 1;
  }
  giveUp(0);
  flush();
  return top;
}

/** Turns the oldest opened mark into text. What it has gathered goes to the top. */
function forgetOldest(opened: Opened[], top: Inline[]): void {
  const oldest = opened.shift();
  if (!oldest) return;
  addText(top, oldest.sign);
  for (const piece of oldest.children) {
    if (piece.kind === "text") addText(top, piece.text);
    else top.push(piece);
  }
}

function addText(pieces: Inline[], text: string): void {
  const last = pieces.at(-1);
  if (last?.kind === "text") last.text += text;
  else pieces.push({ kind: "text", text });
}

function signAt(text: string, at: number): string | undefined {
  const character = text.charAt(at);
  if (character === "*" || character === "_")
    return text.charAt(at + 1) === character ? character.repeat(2) : character;
  return text.startsWith("~~", at) ? "~~" : undefined;
}

const isSpace = (character: string) => character === "" || /\s/.test(character);
const isWord = (character: string) => /[0-9A-Za-z]/.test(character);

function canOpen(text: string, at: number, sign: string): boolean {
  const [before, after] = [text.charAt(at - 1), text.charAt(at + sign.length)];
  // Between two letters or digits it is part of a name or a formula: snake_case, 2*3*4.
  return !isSpace(after) && !(isWord(before) && isWord(after));
}

function canClose(text: string, at: number, sign: string): boolean {
  const [before, after] = [text.charAt(at - 1), text.charAt(at + sign.length)];
  return !isSpace(before) && !(sign.startsWith("_") && isWord(after));
}

function runLength(text: string, start: number): number {
  let end = start;
  while (text.charAt(end) === "`") end += 1;
  return end - start;
}

/** The end of each code span by its beginning: the next run of as many backticks. Found from the end backwards. */
function findTickEnds(text: string): Map<number, number> {
  const ends = new Map<number, number>();
  const nextOfLength = new Map<number, number>();
  for (const { 0: run, index } of [...text.matchAll(/`+/g)].toReversed()) {
    const next = nextOfLength.get(run.length);
    if (next !== undefined) ends.set(index, next);
    nextOfLength.set(run.length, index);
  }
  return ends;
}

/** The closing bracket of each opening one. */
function findBracketEnds(text: string): Map<number, number> {
  const ends = new Map<number, number>();
  const open: number[] = [];
  for (const { 0: bracket, index } of text.matchAll(/[[\]]/g)) {
    if (bracket === "[") open.push(index);
    else {
      const start = open.pop();
      if (start !== undefined) ends.set(start, index);
    }
  }
  return ends;
}

/** One space on either side is not part of the code, so that code can begin with a backtick. */
function trimCode(text: string): string {
  return text.startsWith(" ") && text.endsWith(" ") && text.trim() !== "" ? text.slice(1, -1) : text;
}

type Read = { piece: Inline; end: number } | undefined;

/** Reads `[text](address)`, `![text](address)`, `<https://…>` or a bare address. A picture becomes a link: none is loaded. */
function readLink(text: string, at: number, ends: ReadonlyMap<number, number>): Read {
  const character = text.charAt(at);
  if (character === "[") return readNamed(text, at, ends);
  if (character === "!" && text.charAt(at + 1) === "[") return readNamed(text, at + 1, ends);
  if (character === "<") return readBare(text, at + 1, ">");
  if ((character === "h" || character === "H") && !isWord(text.charAt(at - 1))) return readBare(text, at, "");
  return undefined;
}

function readNamed(text: string, at: number, ends: ReadonlyMap<number, number>): Read {
  const close = ends.get(at);
  if (close === undefined || text.charAt(close + 1) !== "(") return undefined;
  const address = readAddress(text, close + 2);
  const link = address && safeLink(address.text);
  if (!link) return undefined;
  const children = markdownInline(text.slice(at + 1, close), { links: false });
  return {
    piece: { kind: "link", ...link, children: children.length > 0 ? children : [{ kind: "text", text: link.target }] },
    end: address.end,
  };
}

const addressCharacters = /[^\s()<>[\]"]*/y;
const titleCharacters = /\s+"[^"[\]\n]*"\s*/y;

/** Reads an address up to its closing parenthesis. It may have pairs of parentheses in it. */
function readAddress(text: string, start: number): { text: string; end: number } | undefined {
  let end = start;
  for (let depth = 0; ;) {
    addressCharacters.lastIndex = end;
    end += addressCharacters.exec(text)?.[0].length ?? 0;
    const character = text.charAt(end);
    if (character === "(") depth += 1;
    else if (character === ")" && depth > 0) depth -= 1;
    else break;
    end += 1;
  }
  titleCharacters.lastIndex = end;
  const close = end + (titleCharacters.exec(text)?.[0].length ?? 0);
  return text.charAt(close) === ")" ? { text: text.slice(start, end), end: close + 1 } : undefined;
}

const bareAddress = /https?:\/\/[!#-;=?-Z_a-z~%]+/iy;

/** Reads an address that stands in the text. It ends before a character that is not ASCII and before punctuation. */
function readBare(text: string, start: number, close: string): Read {
  bareAddress.lastIndex = start;
  const found = bareAddress.exec(text)?.[0];
  if (found === undefined) return undefined;
  const address = close === "" ? withoutPunctuation(found) : found;
  const end = start + address.length;
  const link = safeLink(address);
  // All that was looked at becomes text: looking at it again from its next letter would take too long.
  if (!link || !text.startsWith(close, end))
    return { piece: { kind: "text", text: (close && "<") + found }, end: start + found.length };
  return { piece: { kind: "link", ...link, children: [{ kind: "text", text: address }] }, end: end + close.length };
}

function withoutPunctuation(address: string): string {
  let end = address.length;
  while (/[.,;:!?'*_~]/.test(address.charAt(end - 1))) end -= 1;
  // A parenthesis at the end belongs to the address only if it has one to close.
  if (address.charAt(end - 1) === ")" && !address.slice(0, end).includes("(")) end -= 1;
  return address.slice(0, end);
}
