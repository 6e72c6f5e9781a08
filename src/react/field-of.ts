import type { CardField } from "../protocol/card.ts";
import { isInstant } from "./field-text.ts";

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

/** How to show an argument: as the policy says, or as it looks. */
export function fieldOf(
  name: string,
  values: Record<string, unknown>,
  fields: Readonly<Record<string, CardField>>,
): CardField {
  return (Object.hasOwn(fields, name) ? fields[name] : undefined) ?? inferField(name, values);
}
