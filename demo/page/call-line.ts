import { callSummary, money } from "./format.ts";
import type { Language } from "./strings.ts";

/** A call in a few words, so that two calls of the same tool can be told apart: `$50.00 → Hanako`. */
export function callLine(input: unknown, language: Language): string {
  const { amount, currency = "USD", recipient } = Object(input ?? {}) as Record<string, unknown>;
  const sum = money(amount, currency, language);
  if (sum === undefined) return callSummary(input);
  return typeof recipient === "string" ? `${sum} → ${recipient}` : sum;
}
