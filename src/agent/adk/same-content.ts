import type { Content } from "@google/genai";

/** A copy of a content of the history, which is plain JSON. */
export function copyContent(content: Content): Content {
  return copy(content);
}

/** True when two contents have the same values: they mean the same in a request. */
export function isSameContent(a: Content | undefined, b: Content | undefined): boolean {
  return isSame(a, b);
}

/** Spreading and then replacing what is inside is several times faster than adding one field after the other. */
function copy<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copy) as T;
  const copied = { ...value };
  for (const name in copied) if (typeof copied[name] === "object") copied[name] = copy(copied[name]);
  return copied;
}

function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  for (const name in a) if (!isSame(field(a, name), field(b, name))) return false;
  for (const name in b) if (!Object.hasOwn(a, name)) return false;
  return true;
}

function field(value: object, name: string): unknown {
  return (value as Record<string, unknown>)[name];
}
