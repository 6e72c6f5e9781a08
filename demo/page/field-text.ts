import type { CardField } from "adk-stream-protocol/protocol";
import { money } from "./format.ts";
import type { Language } from "./strings.ts";

/** An argument as a person reads it. `exact` is the value as it is sent, if that says something else. */
export interface FieldText {
  text: string;
  exact?: string;
}

const localeOf = (language: Language): string => (language === "ja" ? "ja-JP" : "en-GB");

/** An argument in its format; undefined if it does not fit, so that it is shown as it is. No digit is left out. */
export function fieldText(value: unknown, field: CardField, language: Language): FieldText | undefined {
  switch (field.format) {
    case "money":
      return exactNumber(value, money(value, field.currency, language));
    case "number":
      return exactNumber(value, Number(value).toLocaleString(localeOf(language), { maximumFractionDigits: 20 }));
    case "date":
      return dateText(value, language);
    default:
      return undefined;
  }
}

/** Very small numbers have more digits than a text of this kind can have. */
function exactNumber(value: unknown, text: string | undefined): FieldText | undefined {
  if (typeof value !== "number" || !Number.isFinite(value) || text === undefined) return undefined;
  return Number(text.replaceAll(/[^\d.]/g, "")) === Math.abs(value) ? { text } : undefined;
}

const day = /^\d{4}-\d{2}-\d{2}$/;
const instant = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;

/** A day, or a time with its zone, in the zone of the browser. */
function dateText(value: unknown, language: Language): FieldText | undefined {
  if (typeof value !== "string" || !(day.test(value) || instant.test(value))) return undefined;
  const date = new Date(value);
  // `2026-02-30` would be read as another day.
  if (Number.isNaN(date.getTime()) || (day.test(value) && !date.toISOString().startsWith(value))) return undefined;
  const text = day.test(value)
    ? date.toLocaleDateString(localeOf(language), { dateStyle: "long", timeZone: "UTC" })
    : date.toLocaleString(localeOf(language), { dateStyle: "long", timeStyle: "long" });
  return { text, exact: value };
}
