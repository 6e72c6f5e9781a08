import type { CardField } from "../protocol/card.ts";

/** The arguments that the card describes in its order, then the others in theirs. */
export function argumentOrder(names: readonly string[], fields: Readonly<Record<string, CardField>>): string[] {
  const described = Object.keys(fields).filter((name) => names.includes(name));
  const isDescribed = new Set(described);
  return [...described, ...names.filter((name) => !isDescribed.has(name))];
}
