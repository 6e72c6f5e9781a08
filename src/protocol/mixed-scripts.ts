import {
  fullWidthLetter,
  isSpecialForm,
  type LookAlikeScript,
  lookAlikeScripts,
  mathematicalLetter,
} from "./look-alikes.ts";

/** Ignorable characters do not end a word; otherwise one of them would hide the mixture. */
const partOfWord = /[\p{Letter}\p{Mark}\p{Number}\p{Default_Ignorable_Code_Point}_]/u;
/** The scripts whose texts have full-width letters. */
const eastAsian = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}]/u;

/** How many letters a word in a script of daily use has to have: single letters are used as symbols. */
const shortestWord = 3;

const order = ["Latin", ...lookAlikeScripts.map(({ name }) => name), "mathematical", "full-width", "special"];

/**
 * The scripts by which a text can pretend to be another one. "раypal" may not be "paypal": one of its words mixes Latin
 * letters with letters that look like them, of another script or of a special form. If the result has one name, a whole
 * word is written in letters that look Latin. Empty for ordinary text, also if words of several scripts follow each other.
 * `isAmongLatin`: what is around the text is written in Latin letters, so that "аррӏе" alone can be read as a Latin word.
 *
 * It goes character by character, because a pattern that matches a whole word needs a stack as long as the word.
 */
export function mixedScripts(text: string, isAmongLatin = false): string[] {
  const found = new Set<string>();
  /** The scripts with a word that can be read as a Latin one, and those with letters that cannot. */
  const twins = new Set<LookAlikeScript>();
  const distinct = new Set<LookAlikeScript>();
  /** What the text has anywhere. */
  const seen = new Set<Kind["name"]>();
  const kinds = new Map<string, Kind>();
  let word = newWord();

  const endWord = () => {
    const { names, twinsOf, letters, hasAscii } = word;
    const isMixed = names.has("Latin") ? names.size > 1 : hasAscii && names.has("full-width");
    if (isMixed || names.has("mathematical")) for (const name of names) found.add(name);
    if (isMixed) found.add("Latin");
    if (twinsOf && (letters >= shortestWord || !twinsOf.inDailyUse)) twins.add(twinsOf);
    word = newWord();
  };

  for (const character of text) {
    let kind = kinds.get(character);
    if (!kind) kinds.set(character, (kind = kindOf(character)));
    const { name, script, isTwin } = kind;
    seen.add(name);
    // There are no spaces in Japanese: `第５回AWS勉強会` has two Latin words.
    if (name === "boundary" || name === "East Asian") {
      endWord();
      continue;
    }
    word.hasAscii ||= character < "\u0080";
    if (name === "no letter") continue;
    word.twinsOf = word.letters === 0 || word.twinsOf === script ? script : undefined;
    word.letters += 1;
    if (name !== "other") word.names.add(name);
    if (script && !isTwin) distinct.add(script);
  }
  endWord();

  const hasLatin = isAmongLatin || seen.has("Latin");
  // A text with letters that only this script has is a text in this script.
  for (const script of twins) if (!distinct.has(script) && (hasLatin || !script.inDailyUse)) found.add(script.name);
  if (seen.has("full-width") && !seen.has("East Asian")) found.add("full-width");
  return order.filter((name) => found.has(name));
}

/** One word of the text, as far as it was read. */
interface Word {
  names: Set<string>;
  letters: number;
  /** The one script that all letters so far look like; undefined if they have no such script. */
  twinsOf: LookAlikeScript | undefined;
  hasAscii: boolean;
}

function newWord(): Word {
  return { names: new Set(), letters: 0, twinsOf: undefined, hasAscii: false };
}

interface Kind {
  /** A name of `order`, or one of these. */
  name: "boundary" | "no letter" | "East Asian" | "other" | (string & {});
  script?: LookAlikeScript;
  isTwin?: boolean;
}

function kindOf(character: string): Kind {
  if (/[a-z]/i.test(character)) return { name: "Latin" };
  if (!partOfWord.test(character)) return { name: "boundary" };
  if (fullWidthLetter.test(character)) return { name: "full-width" };
  if (mathematicalLetter.test(character)) return { name: "mathematical" };
  if (isSpecialForm(character)) return { name: "special" };
  if (/\p{Script=Latin}/u.test(character)) return { name: "Latin" };
  if (eastAsian.test(character)) return { name: "East Asian" };
  const script = lookAlikeScripts.find(({ letter }) => letter.test(character));
  if (script) return { name: script.name, script, isTwin: script.twins.has(character) };
  return { name: /\p{Letter}/u.test(character) ? "other" : "no letter" };
}
