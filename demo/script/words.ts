/** What the readers of English and Japanese share. */

/** The languages of the demo. */
export type Language = "en" | "ja";

/** The language of a text: Japanese if it has any Japanese character. */
export function languageOf(text: string): Language {
  return /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u.test(text) ? "ja" : "en";
}

/** Makes full-width characters ordinary, joins spaces, and cuts the text to the length that a request can need. */
export function normalise(text: string): string {
  return text.slice(0, 1000).normalize("NFKC").replace(/\s+/gu, " ").trim();
}

/** A value of a tool, for use in a sentence. */
export function toWords(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A number as people type it, with or without separators. */
export const numberPattern = String.raw`(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?`;

/** Reads such a number. */
export function toNumber(typed: string): number {
  return Number(typed.replaceAll(",", ""));
}

/** A part of an English text. */
export type Token =
  | { readonly kind: "amount"; readonly value: number; readonly dollars: boolean; readonly raw: string }
  | { readonly kind: "word"; readonly word: string; readonly raw: string }
  | { readonly kind: "mark"; readonly raw: string };

const dollars = String.raw`(?:us\s?dollars?|usd|dollars?|bucks?)(?!\p{L})`;
const tokenPattern = new RegExp(
  [
    String.raw`(?<![\p{L}\p{N}])(?<sign>[-\u2212])?(?<prefix>us\s?\$|usd\s?|\$)?\s*(?<sign2>[-\u2212])?(?<digits>${numberPattern})` +
      String.raw`(?:\s*(?<suffix>${dollars}|\$)|(?![\p{L}\p{N}]))`,
    String.raw`(?<word>\p{L}[\p{L}\p{M}\p{N}'’._@-]*)`,
    String.raw`(?<mark>[,;:&.!?])`,
  ].join("|"),
  "giu",
);

/** Splits English into words, amounts of money and marks. `word` is in lower case, `raw` is as typed. */
export function tokenise(text: string): Token[] {
  return Array.from(text.matchAll(tokenPattern), ({ 0: all, groups = {} }): Token => {
    if (groups["digits"] !== undefined) {
      const negative = groups["sign"] !== undefined || groups["sign2"] !== undefined;
      const value = toNumber(groups["digits"]) * (negative ? -1 : 1);
      return {
        kind: "amount",
        value,
        dollars: groups["prefix"] !== undefined || groups["suffix"] !== undefined,
        raw: all.trim(),
      };
    }
    if (groups["word"] === undefined) return { kind: "mark", raw: all };
    const raw = groups["word"].replace(/['’._@-]+$/u, "");
    return { kind: "word", word: raw.toLowerCase().replaceAll("’", "'"), raw };
  });
}

/** English words that are never a person or a place. They end a name. */
const reserved = new Set(
  (
    "a all also am an and are as at back be bgm by can change check could dear did do dollars each else " +
    "find for forecast from get give hello help hey hi how how's i if immediately in instead is it it's know later " +
    "let like look me money music my next no not now of off ok okay on or our over pay payment payments play please " +
    "quickly remit right send show so some somewhere song soon switch tell temperature thank thanks that the their " +
    "them then there these they this to today today's tomorrow tomorrow's tonight track transfer via was we weather " +
    "what what's when where where's who why wire with would you your him her us here now's current currently " +
    "local outside area weekend week morning afternoon evening everyone anyone someone something anything attention"
  ).split(" "),
);

/** Whether a token is a word that cannot be a name. */
export function isReserved(token: Token | undefined): boolean {
  return token?.kind === "word" && reserved.has(token.word);
}

/** Whether a token is one of these words. */
export function isWord(token: Token | undefined, ...words: readonly string[]): boolean {
  return token?.kind === "word" && words.includes(token.word);
}

/** Whether a token is a word that may be a name. */
export function isName(token: Token | undefined): token is Extract<Token, { kind: "word" }> {
  return token?.kind === "word" && !reserved.has(token.word);
}

/** Whether a token is a word with a capital letter, or in a script without them. */
export function isCapitalised(token: Token | undefined): boolean {
  return token?.kind === "word" && /^[\p{Lu}\p{Lo}]/u.test(token.raw);
}

const together = String.raw`(?<=さん|さま|様|ちゃん|くん|君|[^\p{Script=Hiragana}])`;
const joiner = new RegExp(String.raw`${together}[とや]|(?<=..)と(?=[^\p{Script=Hiragana}])|および|及び`, "u");

/**
 * Splits a list such as 花子さんと太郎さん, but not a name such as さとみ: と joins two people only next to an honorific or a
 * character that is not hiragana.
 */
export function splitJapaneseList(list: string): string[] {
  return list.split(joiner).filter((name) => name !== "");
}

const earlierClause =
  /^.*(?:として|調べて|教えて|知らせて|見て|送って|払って|変えて|かけて|流して|確認して|して|ください|ので|から)/u;
const leadIn =
  /^(?:それでは|それじゃあ?|では|じゃあ|それから|次に|今すぐ|もう一度|(?:今日|明日)は|(?:それと|あと|また|まず|じゃ|すぐ)(?!\p{Script=Hiragana}))+(?=.)/u;
const possessive = /^.{2,}の(?=.{2,})/u;

/** Removes the words before a name: では…, あと…, 友達の…, …を調べて…. */
export function stripLeadIn(phrase: string): string {
  return phrase.replace(earlierClause, "").replace(leadIn, "").replace(possessive, "").trim();
}
