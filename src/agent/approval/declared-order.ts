import { forbiddenKeys } from "../../protocol/canonical-json.ts";
import type { CardField } from "../../protocol/index.ts";
import { cardLimits } from "./card-limits.ts";

type Fields = Record<string, CardField>;

/** Names of a call's arguments, in three orders. */
export interface ArgumentNames {
  /** As the tool declares them, also those that the call does not have. */
  declared: readonly string[];
  /** As the chat shows them: the order of the model, or of the tool's schema. */
  shown: readonly string[];
  /** As the row has them: by name. */
  stored: readonly string[];
}

/**
 * The fields of a card, and after them an empty field for each other argument that the tool declares, in its order. A page
 * shows the arguments that have a field first. The fields stay as they are if every page has the right order without that, if
 * the card would be too large, and for names that have no place in an object or that clients refuse.
 */
export function withDeclaredOrder(fields: Fields, { declared, shown, stored }: ArgumentNames): Fields {
  const present = new Set(stored);
  const added = declared.filter((name) => present.has(name) && !Object.hasOwn(fields, name));
  const described = Object.keys(fields);
  const wanted = orderOf(described, added, stored);
  if (wanted === orderOf(described, stored) && wanted === orderOf(described, shown)) return fields;
  if (described.length + added.length > cardLimits.fields || added.join("").length > cardLimits.names) return fields;
  if (added.some((name) => forbiddenKeys.has(name) || isIndex(name))) return fields;
  return { ...fields, ...Object.fromEntries(added.map((name) => [name, {}])) };
}

function orderOf(...names: (readonly string[])[]): string {
  return JSON.stringify([...new Set(names.flat())]);
}

/** Objects have such keys before all others, by their number. */
function isIndex(name: string): boolean {
  return /^\d+$/.test(name);
}
