import { mixedScripts } from "../protocol/visible-text.ts";

/** Languages whose letters can be read as Latin ones: Cyrillic, Greek and Armenian. */
const others = /^(?:ru|uk|be|bg|sr|mk|kk|ky|mn|tg|tt|el|hy)\b/i;

/** The scripts by which a text can pretend to be another one, on a page in this language. */
export function lookAlikes(text: string, language: string): string[] {
  return mixedScripts(text, !others.test(language));
}
