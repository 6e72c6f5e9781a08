export type NumberKind = "duration" | "positive duration" | "count" | "positive count";

/** Throws a sentence that names the option, unless the value is such a number or not given. */
export function checkNumber(name: string, value: unknown, kind: NumberKind): void {
  if (value === undefined) return;
  const isCount = kind.endsWith("count");
  const isValid = typeof value === "number" && (isCount ? Number.isSafeInteger(value) : !Number.isNaN(value));
  if (isValid && (kind.startsWith("positive") ? value > 0 : value >= 0)) return;
  const expected = isCount ? "a whole number" : "a number of milliseconds";
  const range = kind.startsWith("positive") ? "greater than 0" : "0 or more";
  throw new Error(`The option ${name} must be ${expected}, ${range}; it is ${showValue(value)}.`);
}

/** A wrong value in a sentence. Objects are named by their kind: they may be large, or secret. */
export function showValue(value: unknown): string {
  if (typeof value === "function") return "a function";
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "a list" : "an object";
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}
