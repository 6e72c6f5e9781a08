import type { Language } from "./strings.ts";

/**
 * An amount of money as a person reads it, with every digit. Undefined if the two values are not a number and a currency
 * code; the page then shows both unchanged.
 */
export function money(amount: unknown, currency: unknown, language: Language): string | undefined {
  if (typeof amount !== "number" || !Number.isFinite(amount)) return undefined;
  if (typeof currency !== "string" || !/^[A-Z]{3}$/.test(currency)) return undefined;
  try {
    return new Intl.NumberFormat(language === "ja" ? "ja-JP" : "en-US", {
      style: "currency",
      currency,
      maximumFractionDigits: 20,
    }).format(amount);
  } catch {
    return undefined;
  }
}

export function clockTime(at: number, language: Language): string {
  return new Date(at).toLocaleTimeString(language === "ja" ? "ja-JP" : "en-GB");
}

/** A time that may be on another day. */
export function pointInTime(at: number, language: Language, now = Date.now()): string {
  const locale = language === "ja" ? "ja-JP" : "en-GB";
  const isToday = new Date(at).toDateString() === new Date(now).toDateString();
  const day = isToday ? {} : ({ day: "numeric", month: "short" } as const);
  return new Date(at).toLocaleString(locale, { ...day, hour: "2-digit", minute: "2-digit" });
}

/** A word or two by which a person recognises a call among others of the same tool. */
export function callSummary(input: unknown): string {
  if (typeof input !== "object" || input === null) return "";
  const fields = input as Record<string, unknown>;
  const value =
    fields["recipient"] ?? fields["location"] ?? fields["track"] ?? fields["service"] ?? Object.values(fields)[0];
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}
