const wide = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303f\u30fc\uff00-\uff65`;
const pieces = new RegExp(String.raw`[${wide}]{1,4}\s*|[^\s${wide}]+\s*|\s+`, "gu");

/**
 * Splits a text as a model streams it: word by word, and a few characters at a time in scripts without spaces. The joined
 * pieces are the text again.
 */
export function splitWords(text: string): string[] {
  return text.match(pieces) ?? [];
}
