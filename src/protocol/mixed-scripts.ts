import {
  fullWidthLetter,
  isSpecialForm,
  type LookAlikeScript,
  lookAlikeScripts,
  mathematicalLetter,
} from "./look-alikes.ts";

/** Ignorable characters do not end a word; otherwise one of them would hide the mixture. */
const betweenWords = /[^\p{Letter}\p{Mark}\p{Number}\p{Default_Ignorable_Code_Point}_]/u;
/** Scripts that have no spaces, and whose texts have full-width letters. `第５回AWS勉強会` has two Latin words. */
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
 * It splits at single characters, because a pattern that matches a whole word needs a stack as long as the word.
 */
export function mixedScripts(text: string, isAmongLatin = false): string[] {
  const found = new Set<string>();
  /** The scripts with a word that can be read as a Latin one, and those with letters that cannot. */
  const twins = new Set<LookAlikeScript>();
  const distinct = new Set<LookAlikeScript>();
  /** What the text has anywhere. */
  const seen = new Set<string>();
  const phrases = text.split(betweenWords);
  const words = phrases.flatMap((phrase) => phrase.split(eastAsian));
  const kinds = new Map(Array.from(new Set(words.join("")), (character) => [character, kindOf(character)]));

  for (const word of words) {
    const letters = Array.from(word).flatMap((character) => kinds.get(character) ?? []);
    const names = new Set(letters.flatMap(({ name }) => name ?? []));
    const isMixed = names.has("Latin") ? names.size > 1 : names.has("full-width") && /\w/.test(word);
    if (isMixed) found.add("Latin");
    for (const name of names) {
      seen.add(name);
      if (isMixed || names.has("mathematical")) found.add(name);
    }
    for (const { script, isTwin } of letters) if (script && !isTwin) distinct.add(script);
    const script = letters[0]?.script;
    const isLong = !script?.inDailyUse || letters.length >= shortestWord;
    if (script && isLong && letters.every((letter) => letter.script === script)) twins.add(script);
  }

  const hasLatin = isAmongLatin || seen.has("Latin");
  // A text with letters that only this script has is a text in this script.
  for (const script of twins) if (!distinct.has(script) && (hasLatin || !script.inDailyUse)) found.add(script.name);
  if (seen.has("full-width") && !phrases.some((phrase) => eastAsian.test(phrase))) found.add("full-width");
  return order.filter((name) => found.has(name));
}

/** A letter: to which name of `order` it belongs, if to one, and whether it looks like a Latin one. */
interface Kind {
  name?: string;
  script?: LookAlikeScript;
  isTwin?: boolean;
}

/** Undefined for what is no letter. */
function kindOf(character: string): Kind | undefined {
  if (/[a-z]/i.test(character)) return { name: "Latin" };
  if (fullWidthLetter.test(character)) return { name: "full-width" };
  if (mathematicalLetter.test(character)) return { name: "mathematical" };
  if (isSpecialForm(character)) return { name: "special" };
  if (/\p{Script=Latin}/u.test(character)) return { name: "Latin" };
  const script = lookAlikeScripts.find(({ letter }) => letter.test(character));
  if (script) return { name: script.name, script, isTwin: script.twins.has(character) };
  return /\p{Letter}/u.test(character) ? {} : undefined;
}
