/**
 * The longest texts of a card, in UTF-16 units; `names` is all that the order of a tool's declaration may add. Every
 * `data-approval` of the call carries them.
 */
export const cardLimits = {
  title: 120,
  hint: 1000,
  label: 80,
  icon: 32,
  languages: 20,
  fields: 100,
  names: 2000,
} as const;

const languageTag = /^[a-z]{2,8}(-[a-z0-9]{1,8})*$/i;

/** Whether a key of a text for several languages can be a language tag. */
export function isLanguageTag(tag: string): boolean {
  return tag.length <= 35 && languageTag.test(tag);
}

/** Whether a currency is named by its ISO 4217 code. Any other name is that of an argument. */
export function isCurrencyCode(text: unknown): text is string {
  return typeof text === "string" && /^[A-Z]{3}$/.test(text);
}
