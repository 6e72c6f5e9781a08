export { mixedScripts } from "./mixed-scripts.ts";

/** A piece of a text: shown as it is, or, if it is a character that cannot be seen, shown by its label. */
export type VisibleRun = { kind: "text"; text: string } | { kind: "mark"; text: string; label: string };

/**
 * Characters that draw nothing, move other characters, look different in every font, or are drawn over other characters:
 * - `C`, `DI`: control and format characters (bidi, zero-width, tags), lone surrogates, private and unassigned code points,
 *   and all others that Unicode calls ignorable (fillers, variation selectors)
 * - `Z`: spaces, and line and paragraph separators
 * - others that look like a space or like nothing: the empty Braille pattern, the place of an embedded object, an empty
 *   note head, blank hieroglyphs
 * - strokes through the character before them, and frames around it
 */
const unseen = /[\u0334-\u0338\p{C}\p{DI}\p{Z}\u2800\ufffc\u{1d159}\u{13441}\u{13442}]|[\u20d2-\u20e2\u20e4-\u20eb]/u;

/** The spaces of ordinary text, in Japanese too. Every other space looks like one of them and is another character. */
const ordinarySpace = /[ \u3000]/;

/** How many marks a letter may have above and below it. A pile of them covers the lines around it. */
const maxMarks = 4;

/**
 * Splits a text so that a person sees every character of it: an approval card must show what the tool gets. Joined, the
 * texts of the runs are the text itself. A newline is a mark whose text is the newline, so a renderer can show the label
 * and break the line as well.
 */
export function visibleText(text: string): VisibleRun[] {
  const runs: VisibleRun[] = [];
  let plain = "";
  let previous = "";
  let marks = 0;
  for (const character of text) {
    marks = /\p{Mn}/u.test(character) ? marks + 1 : 0;
    const isHidden = marks > maxMarks || (unseen.test(character) && !ordinarySpace.test(character));
    if (isHidden && !isEmojiStyle(character, previous)) {
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

/** The variation selector of ordinary text: it asks for the coloured form of the emoji before it. */
function isEmojiStyle(character: string, previous: string): boolean {
  return character === "\uFE0F" && /\p{Extended_Pictographic}/u.test(previous);
}

function labelOf(character: string): string {
  if (character === "\n") return "\\n";
  if (character === "\t") return "\\t";
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
