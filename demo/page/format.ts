import type { Language } from "./strings.ts";

/**
 * A sum as a person reads it, every digit of it. Undefined where the two are not a number and a currency: then both are
 * shown as they came.
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

/** `1:05`, or hours and minutes when it is long. */
export function timeLeft(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}:${String(seconds % 60).padStart(2, "0")}`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** The one or two words that tell two calls of a tool apart. */
export function callSummary(input: unknown): string {
  if (typeof input !== "object" || input === null) return "";
  const fields = input as Record<string, unknown>;
  const telling = fields["recipient"] ?? fields["location"] ?? fields["track"] ?? Object.values(fields)[0];
  return typeof telling === "string" || typeof telling === "number" ? String(telling) : "";
}
