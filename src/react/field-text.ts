import { ifPossible } from "../client/if-possible.ts";
import type { CardField } from "../protocol/card.ts";

/** An argument as a person reads it. `exact` is the value as it is sent, if that says something else. */
export interface FieldText {
  text: string;
  exact?: string;
}

/** An argument in its format; undefined if it does not fit, so that it is shown as it is. No digit is left out. */
export function fieldText(value: unknown, field: CardField, language: string): FieldText | undefined {
  switch (field.format) {
    case "money":
      return moneyText(value, field.currency, language);
    case "number":
      return exactNumber(value, localeOf(language));
    case "date":
      return dateText(value, language);
    default:
      return undefined;
  }
}

function moneyText(value: unknown, currency: string | undefined, language: string): FieldText | undefined {
  if (currency === undefined || !/^[A-Z]{3}$/.test(currency)) return undefined;
  return exactNumber(value, localeOf(language, "en-US"), { style: "currency", currency });
}

/** The most digits after the point that such a text can have. */
const mostDigits = 20;

/** Undefined for very small numbers, which have more digits. */
function exactNumber(value: unknown, locale: string, options?: Intl.NumberFormatOptions): FieldText | undefined {
  if (typeof value !== "number" || !Number.isFinite(value) || Number(value.toFixed(mostDigits)) !== value)
    return undefined;
  const latin = { numberingSystem: "latn", maximumFractionDigits: mostDigits };
  return { text: value.toLocaleString(locale, { ...options, ...latin }) };
}

const day = /^\d{4}-\d{2}-\d{2}$/;
const instant = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;

/** Whether a text is a time with its zone. */
export const isInstant = (text: string): boolean => instant.test(text);

/** A day, or a time with its zone, in the zone of the browser. */
function dateText(value: unknown, language: string): FieldText | undefined {
  if (typeof value !== "string" || !(day.test(value) || instant.test(value))) return undefined;
  const date = new Date(value);
  // `2026-02-30` would be read as another day.
  if (Number.isNaN(date.getTime()) || (day.test(value) && !date.toISOString().startsWith(value))) return undefined;
  const options: Intl.DateTimeFormatOptions = day.test(value)
    ? { dateStyle: "long", timeZone: "UTC" }
    : { dateStyle: "long", timeStyle: "long" };
  return { text: date.toLocaleString(localeOf(language), options), exact: value };
}

/** The locale of a language. Plain English is that of most readers, with dates that cannot be misread. */
export function localeOf(language: string, english = "en-GB"): string {
  if (/^en$/i.test(language)) return english;
  return ifPossible(() => Intl.getCanonicalLocales(language)[0]) ?? english;
}
