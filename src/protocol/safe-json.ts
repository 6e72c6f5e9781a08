import { forbiddenKeys } from "./canonical-json.ts";

/**
 * How deep a value may be nested that clients get. They send it back inside a message inside a request, where 64 levels
 * are allowed.
 */
const maxDepth = 48;

/**
 * A JSON value as every client can hold it and send it back. AI SDK refuses a stream with the key `__proto__`, and servers
 * refuse keys that reach prototypes and deep nesting. Such keys get an underscore in front, what is nested too deeply becomes
 * JSON text, and half of a surrogate pair becomes U+FFFD. All other values stay as JSON would write them.
 */
export function toSafeJson(value: unknown): unknown {
  return toSafe(value, 1);
}

function toSafe(value: unknown, depth: number): unknown {
  switch (typeof value) {
    case "string":
      return wellFormed(value);
    case "number":
      // JSON would write null.
      return Number.isFinite(value) ? value : String(value);
    case "bigint":
      return String(value);
    case "boolean":
      return value;
    case "object":
      return value === null ? null : toSafeContainer(value, depth);
    default:
      return undefined;
  }
}

function toSafeContainer(value: object, depth: number): unknown {
  if ("toJSON" in value && typeof value.toJSON === "function") return toSafe(JSON.parse(toText(value)), depth);
  if (depth > maxDepth) return wellFormed(toText(value));
  if (Array.isArray(value)) return value.map((item) => toSafe(item, depth + 1) ?? null);
  const safe: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(value)) {
    const item = toSafe(member, depth + 1);
    if (item !== undefined) safe[safeKey(key, value)] = item;
  }
  return safe;
}

/** A key that reaches no prototype and is not the key of another member. */
function safeKey(key: string, owner: object): string {
  let name = wellFormed(key);
  while (forbiddenKeys.has(name) || (name !== key && Object.hasOwn(owner, name))) name = `_${name}`;
  return name;
}

function toText(value: object): string {
  try {
    return JSON.stringify(value) ?? "null";
  } catch {
    return JSON.stringify("This value cannot be written as JSON.");
  }
}

function wellFormed(text: string): string {
  return text.replaceAll(/\p{Surrogate}/gu, "\uFFFD");
}
