/** A piece of a text: shown as it is, or, if it is a character that cannot be seen, shown by its label. */
export type VisibleRun = { kind: "text"; text: string } | { kind: "mark"; text: string; label: string };

/**
 * Characters that draw nothing, move other characters, or look different in every font: control and format characters
 * (bidi, zero-width, tags), lone surrogates, private and unassigned code points, line and paragraph separators, and all
 * others that Unicode calls ignorable (fillers, variation selectors).
 */
const unseen = /[\p{Other}\p{Line_Separator}\p{Paragraph_Separator}\p{Default_Ignorable_Code_Point}]/u;

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
    if (unseen.test(character) && !isEmojiStyle(character, previous)) {
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

/** Ignorable characters do not end a word; otherwise one of them would hide the mixture. */
const partOfWord = /[\p{Letter}\p{Mark}\p{Number}\p{Default_Ignorable_Code_Point}_]/u;

/** Scripts whose letters look alike. */
const scripts: readonly [name: string, letter: RegExp][] = [
  ["Latin", /\p{Script=Latin}/u],
  ["Cyrillic", /\p{Script=Cyrillic}/u],
  ["Greek", /\p{Script=Greek}/u],
];

/**
 * The scripts that one word mixes, if it mixes Latin with Cyrillic or Greek: "раypal" may not be "paypal". Empty if every
 * word has one script, also when words of several scripts follow each other. It goes character by character, because a
 * pattern that matches a whole word needs a stack as long as the word.
 */
export function mixedScripts(text: string): string[] {
  const inWord = new Set<string>();
  const mixed = new Set<string>();
  for (const character of text) {
    if (!partOfWord.test(character)) inWord.clear();
    for (const [name, letter] of scripts) if (letter.test(character)) inWord.add(name);
    if (inWord.has("Latin") && inWord.size > 1) for (const name of inWord) mixed.add(name);
  }
  return scripts.map(([name]) => name).filter((name) => mixed.has(name));
}
