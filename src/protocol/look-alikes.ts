/**
 * Letters that a person can take for Latin ones. Each script has those of its letters that look like a Latin letter in most
 * fonts, after the confusables of Unicode's UTS #39. A word of only such letters can be read as a Latin word.
 */
export interface LookAlikeScript {
  name: string;
  letter: RegExp;
  /** Letters that look like Latin ones; none for scripts that are found only inside a Latin word. */
  twins: ReadonlySet<string>;
  /** True for scripts that people write in daily, so that a word of twins alone is no reason to warn. */
  inDailyUse: boolean;
}

/** `id` is Unicode's name of the script. */
const script = (id: string, twins = "", inDailyUse = false, name = id.replace("_", " ")): LookAlikeScript => ({
  name,
  letter: new RegExp(String.raw`\p{Script=${id}}`, "u"),
  twins: new Set(twins),
  inDailyUse,
});

/** In the order in which they are named. */
export const lookAlikeScripts: readonly LookAlikeScript[] = [
  script("Cyrillic", "АВЕЗІЈКМНОРСТУХҮЅԌԚԜаеіјорсухѕһԁԛԝӏ", true),
  script("Greek", "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϳονϲ", true),
  script("Armenian", "ՍՏՕԼԶՈՑհոսօցզգյլքւ", true),
  script("Cherokee", withSmall("ᎠᎡᎢᎥᎩᎪᎫᎬᎳᎷᎻᎽᏀᏂᏃᏎᏏᏒᏔᏙᏚᏞᏟᏢᏦᏧᏮᏳᏴ")),
  script("Coptic", withSmall("ⲀⲂⲈⲌⲎⲒⲔⲘⲚⲞⲢⲤⲦⲨⲬⲰ")),
  script("Lisu", "ꓐꓑꓒꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ"),
  script("Deseret", "𐐄𐐬"),
  script("Osage", "𐓂𐓪"),
  script("Tifinagh"),
  script("Canadian_Aboriginal", "", false, "Canadian"),
  script("Runic"),
  script("Gothic"),
  script("Old_Italic"),
  script("Lycian"),
  script("Carian"),
  script("Warang_Citi"),
  script("Elbasan"),
];

/** Small Cherokee and Coptic letters have the forms of the capital ones. */
function withSmall(letters: string): string {
  return letters + letters.toLowerCase();
}

/** The alphabets of mathematics: bold, italic, script and so on. Nothing but formulas is written in them. */
export const mathematicalLetter = /[\u{1d400}-\u{1d7ff}]/u;

/** Letters and digits as wide as a Chinese character. They are ordinary in Japanese text. */
export const fullWidthLetter = /[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]/u;

/** Phonetic letters that look like ordinary ones. */
const phoneticTwin = /[ɑɡɩɪʏʟʀɴʜʙɢǀǃ\u1d00-\u1d22ꜰꜱ]/u;
const raised = /[\p{Modifier_Letter}ªº]/u;

/** Other forms of Latin letters: `ℋ`, `Ⅳ`, `ﬁ`. A raised letter is easy to tell from an ordinary one. */
export function isSpecialForm(letter: string): boolean {
  if (phoneticTwin.test(letter)) return true;
  return !raised.test(letter) && /^[a-z]+$/i.test(letter.normalize("NFKC")) && !/^[a-z]$/i.test(letter);
}
