import type { CardField } from "../protocol/card.ts";
import { isInstant } from "./field-text.ts";

/** How to show the arguments about which the policy says something. */
export type Fields = Readonly<Record<string, CardField>>;

/** An argument, and how to show it: as the policy says, or as it looks. */
interface Argument {
  name: string;
  value: unknown;
  field: CardField;
}

/** The arguments of a call: those that the card has in its order, then the others in theirs. */
export function argumentsOf(values: Readonly<Record<string, unknown>>, fields: Fields): Argument[] {
  const described = new Map(Object.entries(fields).filter(([name]) => Object.hasOwn(values, name)));
  return Array.from(new Set([...described.keys(), ...Object.keys(values)]), (name) => {
    const field = described.get(name) ?? {};
    // An empty field says only where the argument is.
    return { name, value: values[name], field: Object.keys(field).length > 0 ? field : inferField(name, values) };
  });
}

/** Whether a value has named entries, as the input of most calls does. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const amountName = /^(?:.*_)?(?:amount|price|total|sum|cost|fee)$/i;

/**
 * How to show an argument about which the policy says nothing: yes or no, a time with its zone, and an amount beside the code
 * of its currency. The exact value can be seen with each of them.
 */
function inferField(name: string, values: Readonly<Record<string, unknown>>): CardField {
  const value = values[name];
  if (typeof value === "boolean") return { format: "boolean" };
  if (typeof value === "string" && isInstant(value)) return { format: "date" };
  if (typeof value === "string" && value.includes("\n")) return { format: "multiline" };
  const currency = values["currency"];
  if (typeof value === "number" && amountName.test(name) && typeof currency === "string")
    return { format: "money", currency };
  return {};
}
