export { mixedScripts } from "./mixed-scripts.ts";

/** A piece of a text: shown as it is, or, if it is a character that cannot be seen, shown by its label. */
export type VisibleRun = { kind: "text"; text: string } | { kind: "mark"; text: string; label: string };

/**
 * Characters that draw nothing, move other characters, or look different in every font: control and format characters
 * (bidi, zero-width, tags), lone surrogates, private and unassigned code points, line and paragraph separators, and all
 * others that Unicode calls ignorable (fillers, variation selectors).
 */
const unseen = /[\p{Other}\p{Line_Separator}\p{Paragraph_Separator}\p{Default_Ignorable_Code_Point}]/u;

/** The spaces of ordinary text, in Japanese too. Every other space looks like one of them and is another character. */
const ordinarySpace = /[ \u3000]/u;

/**
 * Other characters that look like a space or like nothing: the empty Braille pattern, the place of an embedded object, an
 * empty note head, blank hieroglyphs.
 */
const blank = /[\p{Space_Separator}\u2800\ufffc\u{1d159}\u{13441}\u{13442}]/u;

/**
 * Splits a text so that a person sees every character of it: an approval card must show what the tool gets. Joined, the
 * texts of the runs are the text itself. A newline is a mark whose text is the newline, so a renderer can show the label
 * and break the line as well.
 */
export function visibleText(text: string): VisibleRun[] {
  const runs: VisibleRun[] = [];
  let plain = "";
  let previous = "";
  for (const character of text) {
    if (isHidden(character) && !isEmojiStyle(character, previous)) {
      if (plain !== "") runs.push({ kind: "text", text: plain });
      plain = "";
      runs.push({ kind: "mark", text: character, label: labelOf(character) });
    } else {
      plain += character;
    }
    previous = character;
  }
  if (plain !== "") runs.push({ kind: "text", text: plain });
  return runs;
}

function isHidden(character: string): boolean {
  return unseen.test(character) || (blank.test(character) && !ordinarySpace.test(character));
}

/** The variation selector of ordinary text: it asks for the coloured form of the emoji before it. */
function isEmojiStyle(character: string, previous: string): boolean {
  return character === "\uFE0F" && /\p{Extended_Pictographic}/u.test(previous);
}

function labelOf(character: string): string {
  if (character === "\n") return "\\n";
  if (character === "\t") return "\\t";
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
